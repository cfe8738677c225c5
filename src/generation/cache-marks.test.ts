import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Message, ContentPart } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createPromptRenderer } from './prompt-renderer.ts';

const model = (chatTemplate?: string): LoadedModel => ({
  contextTokens: 100,
  vocabularySize: 10,
  specialTokens: ['<|im_start|>', '<|im_end|>'],
  bosToken: '',
  eosToken: '<|im_end|>',
  ...(chatTemplate === undefined ? {} : { chatTemplate }),
});

const text = (value: string): ContentPart => ({ type: 'text', text: value });
const marked = (value: string): ContentPart => ({ type: 'text', text: value, cache: 'ephemeral' });
const createMessage = (role: Message['role'], ...content: ContentPart[]): Message => ({ role, content });

const render = (messages: readonly Message[], template?: string): PromptSegment[] =>
  createPromptRenderer()(model(template)).render(messages, {});

const joined = (segments: readonly PromptSegment[]): string => segments.map((segment) => segment.text).join('');

/** Returns the prompt up to each cache mark. */
const listCachedPrefixes = (segments: readonly PromptSegment[]): string[] =>
  segments.flatMap(({ cacheMark }, at) => (cacheMark ? [joined(segments.slice(0, at + 1))] : []));

const unmarked = (messages: readonly Message[]): Message[] =>
  messages.map((message) => ({
    ...message,
    content: message.content.map((part) => (part.type === 'text' ? text(part.text) : part)),
  }));

test('cache marks end with the text of their part, in any role', () => {
  const prompt = render([
    createMessage('system', marked('Long rules.'), text('Today is Monday.')),
    createMessage('user', text('A '), marked('question.')),
    { ...createMessage('assistant', marked('Well, '), text('as I')), partial: true },
  ]);
  assert.deepEqual(listCachedPrefixes(prompt), [
    '<|im_start|>system\nLong rules.',
    '<|im_start|>system\nLong rules.Today is Monday.<|im_end|>\n<|im_start|>user\nA question.',
    `${joined(prompt).slice(0, -' as I'.length)}`,
  ]);
});

test('a prompt without cache marks has none', () => {
  assert.deepEqual(listCachedPrefixes(render([createMessage('user', text('Hi'))])), []);
  assert.deepEqual(listCachedPrefixes(render([createMessage('user', marked('  '), marked('x'))])), [
    '<|im_start|>user\n  x',
  ]);
});

test('cache marks never change the prompt, whatever the texts are and whether or not a template trims them', () => {
  const piece = fc.constantFrom('', ' ', '\n', 'a', 'b ', '<|im_', 'end|>', '<|im_end|>', 'é', '\uFDD2', '\uFDD3');
  const part = fc.record({ type: fc.constant('text' as const), text: fc.array(piece).map((all) => all.join('')) });
  const parts = fc.array(
    fc.tuple(part, fc.boolean()).map(([plain, isMarked]): ContentPart => (isMarked ? marked(plain.text) : plain)),
    { maxLength: 4 },
  );
  const trimming =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}{% endfor %}";
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 3 }), fc.constantFrom(undefined, trimming), (contents, template) => {
      const messages = contents.map((content) => createMessage('user', ...content));
      const [withMarks, without] = [render(messages, template), render(unmarked(messages), template)];
      assert.equal(joined(withMarks), joined(without));
      assert.deepEqual(
        withMarks.filter(({ special }) => special).map((segment) => segment.text),
        without.filter(({ special }) => special).map((segment) => segment.text),
      );
    }),
  );
});

test('cache marks skip texts that a template drops or changes and mark the last occurrence of repeated texts', () => {
  const messages = [createMessage('system', marked('Rules.')), createMessage('user', marked('Hi'))];
  assert.deepEqual(listCachedPrefixes(render(messages, '{{ messages[1].content }}!')), ['Hi']);
  assert.deepEqual(listCachedPrefixes(render(messages, '{{ messages[0].content }}{{ messages[0].content }}!')), [
    'Rules.Rules.',
  ]);
  assert.deepEqual(
    listCachedPrefixes(render(messages, '{{ messages[0].content | length }}{{ messages[1].content }}')),
    [],
  );
  assert.equal(joined(render(messages, '{{ messages[0].content | length }}')), '6');
});
