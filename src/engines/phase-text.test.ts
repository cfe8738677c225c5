import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GenerationPhase } from '../core/prompt.ts';
import { addToken, createPhaseText, cutAtOutput, flushText } from './phase-text.ts';
import { createTriggerMatcher } from './trigger-matcher.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function createTestText(phase: Partial<GenerationPhase> = {}, stops: readonly string[] = []) {
  const emissions: { id: number; text: string; logprobs: readonly string[] }[] = [];
  const rules: GenerationPhase = { kind: 'answer', ...phase };
  const state = createPhaseText<string>(0, rules, {
    stops,
    triggers: createTriggerMatcher([rules]),
    emit: (id, text, logprobs) => emissions.push({ id, text, logprobs }),
  });
  let id = 0;
  const add = (bytes: Uint8Array | string) => {
    const token = { id, bytes: typeof bytes === 'string' ? encode(bytes) : bytes, logprobs: `p${id}` };
    id++;
    return addToken(state, token);
  };
  return { state, emissions, add };
}

describe('the text of a phase', () => {
  it('emits the text and the log probability of each token at once', () => {
    const { emissions, add } = createTestText();
    assert.equal(add('Hel'), undefined);
    assert.equal(add('lo'), undefined);
    assert.deepEqual(emissions, [
      { id: 0, text: 'Hel', logprobs: ['p0'] },
      { id: 1, text: 'lo', logprobs: ['p1'] },
    ]);
  });

  it('holds the log probability of half a character back until the character is complete', () => {
    const { emissions, add } = createTestText();
    const bytes = encode('é');
    add(bytes.subarray(0, 1));
    add(bytes.subarray(1));
    assert.deepEqual(emissions, [
      { id: 0, text: '', logprobs: [] },
      { id: 1, text: 'é', logprobs: ['p0', 'p1'] },
    ]);
  });

  it('removes a stop string and returns the text after it', () => {
    const { state, emissions, add } = createTestText({}, ['END']);
    assert.equal(add('abE'), undefined);
    assert.deepEqual(add('NDcd'), { type: 'text', text: 'END', rest: 'cd' });
    assert.equal(emissions.map(({ text }) => text).join(''), 'ab');
    assert.deepEqual(cutAtOutput(state), { keepTokens: 0, keepText: 'ab' });
  });

  it('ends at the text of the phase as at a stop string', () => {
    const { add } = createTestText({ kind: 'thought', until: { text: '</think>' } });
    assert.deepEqual(add('a</think>b'), { type: 'text', text: '</think>', rest: 'b' });
  });

  it('emits text that only began like a stop string when it is flushed', () => {
    const { state, emissions, add } = createTestText({}, ['END']);
    add('EN');
    assert.equal(flushText(state, { isTruncated: false }), undefined);
    assert.deepEqual(emissions.at(-1), { id: 0, text: 'EN', logprobs: ['p0'] });
  });

  it('shows half a character as U+FFFD at the end, and drops it at a limit', () => {
    for (const [isTruncated, text] of [
      [false, '\uFFFD'],
      [true, ''],
    ] as const) {
      const { state, emissions, add } = createTestText();
      add(encode('é').subarray(0, 1));
      flushText(state, { isTruncated });
      assert.equal(emissions.at(-1)?.text, text);
    }
  });
});
