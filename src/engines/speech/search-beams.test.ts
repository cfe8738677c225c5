import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScriptedSession, spellOut, TEST_TOKENS, testTokenizer } from './__fixtures__/scripted-decoder.ts';
import { decodeText } from './decode-text.ts';
import { searchBeams, type BeamSearchRequest } from './search-beams.ts';
import type { DecoderSession } from './whisper-model.ts';

type Script = (output: string) => Readonly<Record<string, number>>;

const never = new AbortController().signal;
const PROMPT = { promptTokens: [TEST_TOKENS.startOfTranscript], tokensMax: 50, includeAttention: true };

/** Runs the search, and records the number of sequences in each run of the decoder. */
async function search(next: Script, fields: Partial<BeamSearchRequest> = {}, signal = never) {
  const widths: number[] = [];
  const session = createScriptedSession(next);
  const counting: DecoderSession = {
    ...session,
    async step(tokens) {
      widths.push(1);
      return await session.step(tokens);
    },
    createBatch() {
      const batch = session.createBatch();
      return {
        async step(continuations) {
          widths.push(continuations.length);
          return await batch.step(continuations);
        },
      };
    },
  };
  const decoded = await searchBeams({ ...PROMPT, session: counting, width: 3, ...fields }, TEST_TOKENS, signal);
  return { ...decoded, text: testTokenizer.decode(decoded.tokens), widths };
}

/** A decoder that likes `a` at first, but is sure of the text only after `b`. */
const MISLEADING: Script = (output) =>
  output === ''
    ? { a: 1, b: 0.8 }
    : output === 'b'
      ? { c: 5 }
      : output === 'bc'
        ? { '': 5 }
        : { ...Object.fromEntries(Array.from('defghijk', (letter) => [letter, 1])), '': 1 };

describe('searchBeams', () => {
  it('finds the likelier text behind a less likely token, which a greedy search misses', async () => {
    const greedy = await decodeText(
      { ...PROMPT, session: createScriptedSession(MISLEADING), temperature: 0, random: () => 0 },
      TEST_TOKENS,
      never,
    );
    assert.equal(testTokenizer.decode(greedy.tokens)[0], 'a');
    const { text, logProbability } = await search(MISLEADING);
    assert.equal(text, 'bc');
    // ln(e^0.8 / (e^1 + e^0.8)) and two tokens that are nearly certain, over three tokens.
    assert.equal(logProbability.toFixed(3), '-0.266');
    assert.ok(logProbability > greedy.logProbability);
  });

  it('finds the text of a decoder that is certain, with its attention', async () => {
    const { text, attention, isLooping } = await search(spellOut('hello'));
    assert.equal(text, 'hello');
    assert.equal(isLooping, false);
    assert.deepEqual(
      attention.map((row) => row[0]),
      [0, 1, 2, 3, 4, 5],
    );
    assert.deepEqual((await search(spellOut('hello'), { includeAttention: false })).attention, []);
  });

  it('runs the decoder once per token for all texts, with no more texts than its width', async () => {
    for (const width of [2, 3, 5]) {
      const { widths } = await search(spellOut('abcdefghij'), { width });
      assert.deepEqual(widths, [1, ...Array.from({ length: 10 }, () => width)]);
    }
    // A decoder that knows nothing never ends a text by itself.
    const { widths, tokens } = await search(() => ({}), { width: 5, tokensMax: 8 });
    assert.equal(widths.length, 8);
    assert.ok(widths.every((width) => width <= 5));
    assert.equal(tokens.length, 8);
  });

  it('stops as soon as no open text can exceed a finished one', async () => {
    // After `ab`, the end is certain; the texts beside it are hopeless.
    const { text, widths } = await search(spellOut('ab'), { width: 5 });
    assert.equal(text, 'ab');
    assert.equal(widths.length, 3);
  });

  it('stops when as many texts have ended as it is wide, although a longer one may be likelier', async () => {
    const { text, widths } = await search((output) => (output === '' ? { a: 1 } : { a: 1, '': 0 }), { width: 3 });
    assert.equal(text, 'aaa');
    assert.equal(widths.length, 4);
  });

  it('continues other texts after the first one has ended, because a longer one may be likelier per token', async () => {
    const { text } = await search((output) =>
      output === '' ? { a: 0.3, b: 0 } : output === 'a' || output.length === 8 ? { '': 6 } : { c: 6 },
    );
    assert.equal(text, 'bccccccc');
  });

  it('never generates suppressed or special tokens in any text', async () => {
    const { text } = await search((output) =>
      output === '' ? { '^': 9, '': 8, '#': 7, a: 1, b: 1 } : { '': 5, '#': 9, '^': 1 },
    );
    assert.equal(text, 'a');
    const session = createScriptedSession((output) => (output === '' ? { a: 1 } : { '': 1 }));
    const special: DecoderSession = {
      ...session,
      createBatch: () => ({
        async step(continuations) {
          const steps = await session.createBatch().step(continuations);
          for (const { scores } of steps) scores[TEST_TOKENS.transcribe] = 99;
          return steps;
        },
      }),
    };
    assert.equal((await search(() => ({}), { session: special })).text, 'a');
  });

  it('prefers the earlier of two equally likely texts, each time', async () => {
    const next: Script = (output) => (output === '' ? { b: 1, a: 1 } : { '': 9 });
    const first = await search(next);
    assert.equal(first.text, 'a');
    assert.deepEqual(await search(next), first);
  });

  it('reports the likeliest text as looping if it repeats itself endlessly, and removes the repetitions', async () => {
    const decoded = await search((output) => ({ ['ab'[output.length % 2] ?? '']: 5 }));
    assert.ok(decoded.isLooping);
    assert.equal(decoded.text, 'ab');
    assert.equal(decoded.attention.length, 3);
  });

  it('stops at the token limit', async () => {
    const { text, isLooping } = await search(spellOut('abcdefghijkl'), { tokensMax: 5 });
    assert.equal(text, 'abcde');
    assert.equal(isLooping, false);
  });

  it('stops between two tokens after an abort', async () => {
    const gone = new AbortController();
    const outputs: string[] = [];
    const next: Script = (output) => {
      outputs.push(output);
      if (output === 'abc') gone.abort(new Error('gone'));
      return spellOut('abcdef')(output);
    };
    await assert.rejects(search(next, {}, gone.signal), /gone/);
    assert.ok(outputs.includes('abc') && !outputs.includes('abcd'));
  });
});
