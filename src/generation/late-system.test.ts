import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message, Role } from '../core/message.ts';
import { lateSystemAsUser } from './late-system.ts';
import { createPromptRenderer } from './prompt.ts';

const say = (role: Role, text: string): Message => ({ role, content: [{ type: 'text', text }] });

/** As strict as the strictest: one system message, at the beginning, and turns that alternate. */
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
  return createPromptRenderer()(model)(messages, {})
    .map(({ text }) => text)
    .join('');
}

describe('what the system says late', () => {
  for (const [name, messages, expected] of [
    ['at the end', [say('system', 'A'), say('user', 'B'), say('system', 'C')], '[system]A[user]B\n\nC'],
    ['between two of the user', [say('user', 'A'), say('system', 'B'), say('user', 'C')], '[user]A\n\nB\n\nC'],
    [
      'before the user',
      [say('user', 'A'), say('assistant', 'B'), say('system', 'C'), say('user', 'D')],
      '[user]A[assistant]B[user]C\n\nD',
    ],
    [
      'twice',
      [say('user', 'A'), say('system', 'B'), say('developer', 'C'), say('assistant', 'D')],
      '[user]A\n\nB\n\nC[assistant]D',
    ],
  ] as const) {
    test(`${name} is said by the user where the template takes it in no other way`, () => {
      assert.equal(render(STRICT, ...messages), expected);
    });
  }

  test('stays where it is in a template that takes it', () => {
    assert.equal(render(LENIENT, say('user', 'A'), say('system', 'B')), '[user]A[system]B');
  });

  test('changes no conversation in which there is none', () => {
    assert.equal(lateSystemAsUser([say('system', 'A'), say('developer', 'B'), say('user', 'C')]), undefined);
    assert.equal(lateSystemAsUser([say('system', 'A')]), undefined);
    assert.throws(() => render(STRICT, say('user', 'A'), say('user', 'B')), /alternate|prompt|template/i);
  });
});
