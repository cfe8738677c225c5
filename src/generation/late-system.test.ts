import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message, Role } from '../core/message.ts';
import { moveLateSystemToUser } from './late-system.ts';
import { createPromptRenderer } from './prompt-renderer.ts';

const createMessage = (role: Role, text: string): Message => ({ role, content: [{ type: 'text', text }] });

/** A template that allows one system message, at the beginning, and requires alternating roles. */
const STRICT =
  "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}" +
  "{% if not loop.first and m.role == messages[loop.index0 - 1].role %}{{ raise_exception('Roles must alternate.') }}{% endif %}" +
  '[{{ m.role }}]{{ m.content }}{% endfor %}';
const LENIENT = '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}';

function render(chatTemplate: string, ...messages: Message[]): string {
  const model = {
    contextTokens: 100,
    vocabularySize: 100,
    chatTemplate,
    specialTokens: [],
    bosToken: '',
    eosToken: '',
  };
  return createPromptRenderer()(model)
    .render(messages, {})
    .map(({ text }) => text)
    .join('');
}

describe('a late system message', () => {
  for (const [name, messages, expected] of [
    [
      'at the end',
      [createMessage('system', 'A'), createMessage('user', 'B'), createMessage('system', 'C')],
      '[system]A[user]B\n\nC',
    ],
    [
      'between two user messages',
      [createMessage('user', 'A'), createMessage('system', 'B'), createMessage('user', 'C')],
      '[user]A\n\nB\n\nC',
    ],
    [
      'before a user message',
      [
        createMessage('user', 'A'),
        createMessage('assistant', 'B'),
        createMessage('system', 'C'),
        createMessage('user', 'D'),
      ],
      '[user]A[assistant]B[user]C\n\nD',
    ],
    [
      'after another one',
      [
        createMessage('user', 'A'),
        createMessage('system', 'B'),
        createMessage('developer', 'C'),
        createMessage('assistant', 'D'),
      ],
      '[user]A\n\nB\n\nC[assistant]D',
    ],
  ] as const) {
    test(`becomes user text ${name} when the template rejects it`, () => {
      assert.equal(render(STRICT, ...messages), expected);
    });
  }

  test('stays in place when the template accepts it', () => {
    assert.equal(render(LENIENT, createMessage('user', 'A'), createMessage('system', 'B')), '[user]A[system]B');
  });

  test('leaves a conversation without late system messages unchanged', () => {
    assert.equal(
      moveLateSystemToUser([createMessage('system', 'A'), createMessage('developer', 'B'), createMessage('user', 'C')]),
      undefined,
    );
    assert.equal(moveLateSystemToUser([createMessage('system', 'A')]), undefined);
    assert.throws(
      () => render(STRICT, createMessage('user', 'A'), createMessage('user', 'B')),
      /alternate|prompt|template/i,
    );
  });
});

describe('a system message for a template without any', () => {
  const SYSTEMLESS = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`;

  test('is put before the first question', () => {
    const messages = [createMessage('system', 'A'), createMessage('user', 'B'), createMessage('assistant', 'C')];
    assert.equal(render(SYSTEMLESS, ...messages), '[user]A\n\nB[assistant]C');
  });

  test("is refused with the template's message when there is no question", () => {
    assert.throws(() => render(SYSTEMLESS, createMessage('system', 'A')), { message: /System role not supported/ });
  });

  test('carries the instructions for tools as well', () => {
    const model = {
      contextTokens: 100,
      vocabularySize: 100,
      chatTemplate: SYSTEMLESS,
      specialTokens: [],
      bosToken: '',
      eosToken: '',
    };
    const tools = [{ name: 'now', description: '', parameters: undefined, field: '' }];
    const segments = createPromptRenderer()(model).render([createMessage('user', 'B')], { tools });
    assert.match(segments.map(({ text }) => text).join(''), /^\[user\]You can call functions\..*\n\nB$/s);
  });
});
