import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Message, Part } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createPromptRenderer } from './prompt.ts';

const model = (chatTemplate?: string): LoadedModel => ({
  contextTokens: 100,
  vocabularySize: 10,
  specialTokens: ['<|im_start|>', '<|im_end|>'],
  bosToken: '',
  eosToken: '<|im_end|>',
  ...(chatTemplate === undefined ? {} : { chatTemplate }),
});

const text = (value: string): Part => ({ type: 'text', text: value });
const marked = (value: string): Part => ({ type: 'text', text: value, cache: 'ephemeral' });
const say = (role: Message['role'], ...content: Part[]): Message => ({ role, content });

const render = (messages: readonly Message[], template?: string): PromptSegment[] =>
  createPromptRenderer()(model(template))(messages, {});

const joined = (segments: readonly PromptSegment[]): string => segments.map((segment) => segment.text).join('');

/** The prompt up to each mark. */
const kept = (segments: readonly PromptSegment[]): string[] =>
  segments.flatMap(({ cacheMark }, at) => (cacheMark ? [joined(segments.slice(0, at + 1))] : []));

const unmarked = (messages: readonly Message[]): Message[] =>
  messages.map((message) => ({
    ...message,
    content: message.content.map((part) => (part.type === 'text' ? text(part.text) : part)),
  }));

test('a mark ends with the text of its part, in any role', () => {
  const prompt = render([
    say('system', marked('Long rules.'), text('Today is Monday.')),
    say('user', text('A '), marked('question.')),
    { ...say('assistant', marked('Well, '), text('as I')), partial: true },
  ]);
  assert.deepEqual(kept(prompt), [
    '<|im_start|>system\nLong rules.',
    '<|im_start|>system\nLong rules.Today is Monday.<|im_end|>\n<|im_start|>user\nA question.',
    `${joined(prompt).slice(0, -' as I'.length)}`,
  ]);
});

test('a prompt without marks has none', () => {
  assert.deepEqual(kept(render([say('user', text('Hi'))])), []);
  assert.deepEqual(kept(render([say('user', marked('  '), marked('x'))])), ['<|im_start|>user\n  x']);
});

test('marks change nothing of the prompt, whatever the texts and whether or not a template trims', () => {
  const piece = fc.constantFrom('', ' ', '\n', 'a', 'b ', '<|im_', 'end|>', '<|im_end|>', 'é', '\uFDD2', '\uFDD3');
  const part = fc.record({ type: fc.constant('text' as const), text: fc.array(piece).map((all) => all.join('')) });
  const parts = fc.array(
    fc.tuple(part, fc.boolean()).map(([plain, isMarked]): Part => (isMarked ? marked(plain.text) : plain)),
    { maxLength: 4 },
  );
  const trimming =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}{% endfor %}";
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 3 }), fc.constantFrom(undefined, trimming), (contents, template) => {
      const messages = contents.map((content) => say('user', ...content));
      const [withMarks, without] = [render(messages, template), render(unmarked(messages), template)];
      assert.equal(joined(withMarks), joined(without));
      assert.deepEqual(
        withMarks.filter(({ special }) => special).map((segment) => segment.text),
        without.filter(({ special }) => special).map((segment) => segment.text),
      );
    }),
  );
});

test('what a template drops or changes is not marked, what it repeats is marked where it stands last', () => {
  const messages = [say('system', marked('Rules.')), say('user', marked('Hi'))];
  assert.deepEqual(kept(render(messages, '{{ messages[1].content }}!')), ['Hi']);
  assert.deepEqual(kept(render(messages, '{{ messages[0].content }}{{ messages[0].content }}!')), ['Rules.Rules.']);
  assert.deepEqual(kept(render(messages, '{{ messages[0].content | length }}{{ messages[1].content }}')), []);
  assert.equal(joined(render(messages, '{{ messages[0].content | length }}')), '6');
});
