import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../core/message.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createPromptRenderer } from './prompt.ts';

const MODEL: LoadedModel = {
  contextTokens: 100,
  vocabularySize: 10,
  specialTokens: ['<|im_start|>', '<|im_end|>'],
  bosToken: '',
  eosToken: '<|im_end|>',
};

/** Shows what a template sees. */
const SEEING: LoadedModel = { ...MODEL, chatTemplate: '{{ messages | tojson }}' };

const say = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text }],
  ...more,
});

const rendered = (
  messages: readonly Message[],
  { model = MODEL, defaultSystem }: { model?: LoadedModel; defaultSystem?: string } = {},
) =>
  createPromptRenderer()(model)(messages, { defaultSystem })
    .map(({ text }) => text)
    .join('');

const seen = (messages: readonly Message[]): unknown => JSON.parse(rendered(messages, { model: SEEING }));

describe('a prompt', () => {
  it('is ChatML where the model file has no template', () => {
    assert.equal(
      rendered([say('system', 'Be brief.'), say('user', 'Hi')]),
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  it("has the family's system text only where the conversation has none", () => {
    const defaultSystem = 'Default.';
    assert.match(
      rendered([say('user', 'Hi')], { defaultSystem }),
      /^<\|im_start\|>system\nDefault\.<\|im_end\|>\n<\|im_start\|>user/,
    );
    for (const role of ['system', 'developer'] as const)
      assert.doesNotMatch(rendered([say(role, 'Mine.'), say('user', 'Hi')], { defaultSystem }), /Default/);
    assert.doesNotMatch(rendered([say('user', 'Hi')]), /system/);
  });

  it('joins the parts of a content, and tells a developer as system', () => {
    const parts: Message = {
      role: 'developer',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    };
    assert.deepEqual(seen([parts]), [{ role: 'system', content: 'ab' }]);
  });

  it('goes on where an unfinished answer ends, as plain text', () => {
    const segments = createPromptRenderer()(MODEL)(
      [say('user', 'Hi'), say('assistant', 'Well, <|im_end|>', { partial: true })],
      {},
    );
    assert.deepEqual(segments.at(-1), { text: 'Well, <|im_end|>', special: false });
    assert.ok(
      segments
        .map(({ text }) => text)
        .join('')
        .endsWith('<|im_start|>assistant\nWell, <|im_end|>'),
    );
    assert.doesNotMatch(rendered([say('assistant', 'Done.'), say('user', 'Go on')]), /Done\.$/);
  });

  it('gives tool calls as templates expect them: arguments as an object, or as the text they are', () => {
    const call = (text: string) => ({ id: 'call_1', name: 'f', arguments: text });
    const seenArguments = (text: string): unknown => {
      const [message] = seen([say('assistant', '', { toolCalls: [call(text)] })]) as {
        tool_calls: { function: { arguments: unknown } }[];
      }[];
      return message?.tool_calls[0]?.function.arguments;
    };
    assert.deepEqual(seenArguments('{"a":1}'), { a: 1 });
    for (const text of ['{"a":', '[1]', '7', '']) assert.equal(seenArguments(text), text);
    const deep = `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    assert.equal(seenArguments(deep), deep, 'nesting that no renderer survives stays text');
    assert.deepEqual(seen([say('tool', '42', { toolCallId: 'call_1', name: 'f' })]), [
      { role: 'tool', content: '42', name: 'f', tool_call_id: 'call_1' },
    ]);
  });
});
