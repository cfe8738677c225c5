import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getMessageText, type Message } from '../../core/message.ts';
import { addMaterial, type Material } from './source-prompt.ts';
import { NO_ANSWER_SENTENCE } from './unanswered.ts';

const QUESTION = 'How many steps has the lighthouse?';
const MESSAGES: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: QUESTION }] }];
const FILLER = 'Nothing of note is told in this sentence here. '.repeat(60);

const createMaterial = (count: number, read: readonly number[] = []): Material => ({
  sources: Array.from({ length: count }, (_, at) => ({
    index: at + 1,
    title: `Source ${at + 1}`,
    url: `https://example.com/${at + 1}`,
    siteName: 's',
    icon: '',
    passage: `${FILLER}\n\nThe lighthouse ${at + 1} has ${at + 200} steps. ${FILLER}`,
  })),
  findings: [],
  read: new Set(read),
  isSearched: true,
});

/** Returns the characters of each source in the prompt, by its number. */
function measureSources(material: Material, charactersMax: number): readonly number[] {
  const [message] = addMaterial(MESSAGES, material, { question: QUESTION, form: undefined, charactersMax });
  assert.ok(message);
  const [, block = ''] = /<search-results>\n(.*)\n<\/search-results>/s.exec(getMessageText(message)) ?? [];
  return block
    .split(/^\[\d+\] /m)
    .slice(1)
    .map(({ length }) => length);
}

describe('addMaterial', () => {
  it('gives the first sources more of a small context, and each the part that matters', () => {
    const material = createMaterial(4);
    const sizes = measureSources(material, 4_000);
    assert.equal(sizes.length, 4);
    assert.deepEqual(
      sizes.toSorted((one, other) => other - one),
      sizes,
    );
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 4_000);
    const [message] = addMaterial(MESSAGES, material, { question: QUESTION, form: undefined, charactersMax: 4_000 });
    assert.ok(message);
    for (const steps of [200, 201, 202, 203]) assert.match(getMessageText(message), new RegExp(`${steps} steps`));
  });

  it('gives a page that was read the share of the first source', () => {
    const sizes = measureSources(createMaterial(3, [3]), 4_000);
    assert.equal(Math.max(...sizes), sizes[2]);
  });

  it('lets the model say that the sources do not answer only where they have few words of the question', () => {
    const getPrompt = (question: string) => {
      const messages: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: question }] }];
      const [message] = addMaterial(messages, createMaterial(2), { question, form: undefined, charactersMax: 4_000 });
      return message ? getMessageText(message) : '';
    };
    assert.ok(!getPrompt(QUESTION).includes(NO_ANSWER_SENTENCE));
    assert.ok(getPrompt('What does a volcano throw out when it erupts?').includes(NO_ANSWER_SENTENCE));
  });

  it('fills a large context with whole passages', () => {
    const sizes = measureSources(createMaterial(3), 24_000);
    assert.ok(
      sizes.every((size) => size > 3_500),
      String(sizes),
    );
  });
});
