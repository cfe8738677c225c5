import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeWithFallback, type DecodingAttempt } from './decode-with-fallback.ts';
import type { DecodingResult } from './decode-text.ts';

const HOTWORDS = ['Siobhan', 'Nakamura', 'Grafana'].map((text) => ({ text, weight: 3 }));

interface Outcome {
  readonly text: string;
  readonly logProbability?: number;
  readonly isLooping?: boolean;
}

/**
 * Runs the fallback with given outcomes: for attempts with hotwords, for the greedy attempt, and for each temperature.
 */
async function decode(
  outcomes: {
    /** Outcomes in order; the last one is repeated. */
    readonly helped?: readonly Outcome[];
    readonly plain: Outcome;
    readonly warm?: readonly Outcome[];
    /** Text with the hotwords of the biased one; default: the biased one. */
    readonly merged?: Outcome & { readonly tokens: readonly number[] };
  },
  { noSpeech = 0, hotwords = HOTWORDS } = {},
) {
  const texts = new Map<DecodingResult, string>();
  const attempts: DecodingAttempt[] = [];
  const helped = [...(outcomes.helped ?? [])];
  const candidate = await decodeWithFallback(
    {
      hotwords,
      noSpeech,
      getText: (decoded) => texts.get(decoded) ?? '',
      mergeHotwords: (_plain, biased) => outcomes.merged?.tokens ?? biased.tokens,
    },
    async (attempt) => {
      attempts.push(attempt);
      const outcome = attempt.knownText
        ? outcomes.merged
        : attempt.hotwords.length > 0
          ? helped.length > 1
            ? helped.shift()
            : helped[0]
          : attempt.temperature === 0
            ? outcomes.plain
            : outcomes.warm?.[Math.round(attempt.temperature * 5) - 1];
      assert.ok(outcome, `an attempt at ${attempt.temperature}`);
      const decoded = { tokens: [], logProbability: -0.5, generated: 1, isLooping: false, attention: [], ...outcome };
      texts.set(decoded, outcome.text);
      return decoded;
    },
  );
  return { ...candidate, attempts };
}

const REPEATS = { text: 'and then we go '.repeat(20) };
const GOOD = { text: 'Siobhan is here.' };

describe('decodeWithFallback', () => {
  it('returns the biased result if it contains a hotword and is at least as likely', async () => {
    for (const [logProbability, isTaken] of [
      [-0.5, true],
      [-0.51, false],
    ] as const) {
      const plain = { text: 'She von is here.', logProbability: -0.5 };
      const { text, isBiasDropped, attempts } = await decode({ helped: [{ ...GOOD, logProbability }], plain });
      assert.equal(text, isTaken ? 'Siobhan is here.' : 'She von is here.');
      assert.equal(isBiasDropped, !isTaken);
      assert.equal(attempts.length, 2);
    }
  });

  it('returns the unbiased text with the hotwords of the biased one, and its own probability', async () => {
    const { text, decoded, attempts, isBiasDropped } = await decode({
      plain: { text: 'Press 1 for she von.' },
      helped: [{ text: 'Press one for Siobhan.' }],
      merged: { text: 'Press 1 for Siobhan.', tokens: [1, 2], logProbability: -2 },
    });
    assert.equal(text, 'Press 1 for Siobhan.');
    assert.equal(decoded.logProbability, -2);
    assert.equal(isBiasDropped, false);
    assert.deepEqual(attempts.at(-1), { ...attempts[1], knownText: [1, 2] });
  });

  it('returns the unbiased result if the bias finds no hotword', async () => {
    const { text, isBiasDropped } = await decode({
      helped: [{ text: 'She is here.' }],
      plain: { text: 'She von is here.' },
    });
    assert.equal(text, 'She von is here.');
    assert.equal(isBiasDropped, false);
  });

  it('returns the unbiased result if the biased ones repeat themselves or recite the hotwords', async () => {
    for (const outcome of [REPEATS, { ...GOOD, isLooping: true }, { text: 'Nakamura, Grafana, Nakamura, Grafana.' }]) {
      const plain = { text: 'She von, naka mora, gravana.', logProbability: -0.9 };
      const { text, isBiasDropped, attempts } = await decode({ helped: [outcome], plain });
      assert.ok(isBiasDropped);
      assert.equal(text, plain.text);
      // The closest hotwords were tried alone before.
      assert.deepEqual(
        attempts.map(({ hotwords }) => hotwords.length),
        [0, 3, 2],
      );
    }
  });

  it('returns the result with the closest hotwords if it contains one, and otherwise reports the dropped bias', async () => {
    const plain = { text: 'She von, naka mora, gravana.' };
    for (const [second, isBiasDropped] of [
      ['She von, Nakamura, gravana.', false],
      ['She von, naka mora, gravana.', true],
    ] as const) {
      const reading = await decode({ helped: [REPEATS, { text: second }], plain });
      assert.equal(reading.text, second);
      assert.equal(reading.isBiasDropped, isBiasDropped);
    }
  });

  it('boosts only hotwords that are similar to the unbiased result', async () => {
    const { attempts } = await decode({ helped: [GOOD], plain: { text: 'The gravana works.' } });
    assert.deepEqual(
      attempts.map(({ hotwords }) => hotwords.map(({ text }) => text)),
      [[], ['Grafana']],
    );
    for (const text of ['It rains.', 'The Grafana works.']) {
      const { attempts: one, isBiasDropped } = await decode({ plain: { text } });
      assert.deepEqual(one, [{ hasContext: true, hotwords: [], temperature: 0 }]);
      assert.equal(isBiasDropped, false);
    }
  });

  it('raises the temperature until a result is good, and omits the context', async () => {
    const { text, attempts } = await decode(
      { plain: { text: 'Bad.', logProbability: -1.1 }, warm: [REPEATS, { text: 'Better.' }] },
      { hotwords: [] },
    );
    assert.equal(text, 'Better.');
    assert.deepEqual(
      attempts.slice(1).map(({ hasContext, temperature }) => [hasContext, temperature]),
      [
        [false, 0.2],
        [false, 0.4],
      ],
    );
  });

  it('returns the likeliest result that does not repeat itself if none is good', async () => {
    const unsure = (text: string, logProbability: number): Outcome => ({ text, logProbability });
    const warm = [
      unsure('a', -2),
      unsure('b', -1.2),
      { ...REPEATS, logProbability: -0.1 },
      unsure('c', -3),
      unsure('d', -4),
    ];
    const { text, attempts } = await decode({ plain: REPEATS, warm }, { hotwords: [] });
    assert.equal(text, 'b');
    assert.equal(attempts.length, 6);
  });

  it('returns an empty text after one attempt if nobody spoke', async () => {
    const plain = { text: 'The gravana works.', logProbability: -1.2 };
    const { text, attempts } = await decode({ plain }, { noSpeech: 0.7 });
    assert.equal(text, '');
    assert.equal(attempts.length, 1);
  });

  it('requires a higher log probability if the no-speech probability is very high', async () => {
    for (const [noSpeech, expected] of [
      [0.95, ''],
      [0.85, 'you'],
    ] as const)
      assert.equal(
        (await decode({ plain: { text: 'you', logProbability: -0.9 } }, { noSpeech, hotwords: [] })).text,
        expected,
      );
  });

  it('returns the text despite a high no-speech probability if it is likely', async () => {
    assert.equal(
      (await decode({ plain: { ...GOOD, logProbability: -0.4 } }, { noSpeech: 0.95, hotwords: [] })).text,
      GOOD.text,
    );
  });
});
