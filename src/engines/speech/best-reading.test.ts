import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bestReading } from './best-reading.ts';
import type { Attempt } from './best-reading.ts';
import type { Decoded } from './decode.ts';

const HOTWORDS = ['Siobhan', 'Nakamura', 'Grafana'].map((text) => ({ text, weight: 3 }));

interface Outcome {
  readonly text: string;
  readonly logProbability?: number;
  readonly isLooping?: boolean;
}

/** Reads with these outcomes for attempts with help, without, and at each temperature. */
async function read(
  outcomes: {
    /** One after the other, the last one again. */
    readonly helped?: readonly Outcome[];
    readonly plain: Outcome;
    readonly warm?: readonly Outcome[];
  },
  { noSpeech = 0, hotwords = HOTWORDS } = {},
) {
  const texts = new Map<Decoded, string>();
  const attempts: Attempt[] = [];
  const helped = [...(outcomes.helped ?? [])];
  const reading = await bestReading(
    { hotwords, noSpeech, textOf: (decoded) => texts.get(decoded) ?? '' },
    async (attempt) => {
      attempts.push(attempt);
      const outcome =
        attempt.hotwords.length > 0
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
  return { ...reading, attempts };
}

const REPEATS = { text: 'and then we go '.repeat(20) };
const good = { text: 'Siobhan is here.' };

describe('the best reading of a speech', () => {
  it('is the one with help where that finds a hotword and is as sure of itself', async () => {
    for (const [logProbability, isTaken] of [
      [-0.5, true],
      [-0.51, false],
    ] as const) {
      const plain = { text: 'She von is here.', logProbability: -0.5 };
      const { text, isBiasDropped, attempts } = await read({ helped: [{ ...good, logProbability }], plain });
      assert.equal(text, isTaken ? 'Siobhan is here.' : 'She von is here.');
      assert.equal(isBiasDropped, !isTaken);
      assert.equal(attempts.length, 2);
    }
  });

  it('is the plain one where help finds nothing', async () => {
    const { text, isBiasDropped } = await read({
      helped: [{ text: 'She is here.' }],
      plain: { text: 'She von is here.' },
    });
    assert.equal(text, 'She von is here.');
    assert.equal(isBiasDropped, false);
  });

  it('is the plain one where help made it repeat itself or read out the list', async () => {
    for (const outcome of [REPEATS, { ...good, isLooping: true }, { text: 'Nakamura, Grafana, Nakamura, Grafana.' }]) {
      const plain = { text: 'She von, naka mora, gravana.', logProbability: -0.9 };
      const { text, isBiasDropped, attempts } = await read({ helped: [outcome], plain });
      assert.ok(isBiasDropped);
      assert.equal(text, plain.text);
      // The nearest ones alone were looked for before that.
      assert.deepEqual(
        attempts.map(({ hotwords }) => hotwords.length),
        [0, 3, 2],
      );
    }
  });

  it('is the one with the nearest alone where that finds something, and otherwise says that help was dropped', async () => {
    const plain = { text: 'She von, naka mora, gravana.' };
    for (const [second, isBiasDropped] of [
      ['She von, Nakamura, gravana.', false],
      ['She von, naka mora, gravana.', true],
    ] as const) {
      const reading = await read({ helped: [REPEATS, { text: second }], plain });
      assert.equal(reading.text, second);
      assert.equal(reading.isBiasDropped, isBiasDropped);
    }
  });

  it('is looked for with the hotwords that may have been misheard, if any', async () => {
    const { attempts } = await read({ helped: [good], plain: { text: 'The gravana works.' } });
    assert.deepEqual(
      attempts.map(({ hotwords }) => hotwords.map(({ text }) => text)),
      [[], ['Grafana']],
    );
    for (const text of ['It rains.', 'The Grafana works.']) {
      const { attempts: one, isBiasDropped } = await read({ plain: { text } });
      assert.deepEqual(one, [{ hasContext: true, hotwords: [], temperature: 0 }]);
      assert.equal(isBiasDropped, false);
    }
  });

  it('is tried for with more chance until one is good, and without a context that may have led it astray', async () => {
    const { text, attempts } = await read(
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

  it('is the likeliest that does not repeat itself where none is good', async () => {
    const unsure = (text: string, logProbability: number): Outcome => ({ text, logProbability });
    const warm = [
      unsure('a', -2),
      unsure('b', -1.2),
      { ...REPEATS, logProbability: -0.1 },
      unsure('c', -3),
      unsure('d', -4),
    ];
    const { text, attempts } = await read({ plain: REPEATS, warm }, { hotwords: [] });
    assert.equal(text, 'b');
    assert.equal(attempts.length, 6);
  });

  it('is empty where nobody spoke, and nothing else is tried, hotwords neither', async () => {
    const plain = { text: 'The gravana works.', logProbability: -1.2 };
    const { text, attempts } = await read({ plain }, { noSpeech: 0.7 });
    assert.equal(text, '');
    assert.equal(attempts.length, 1);
  });

  it('is empty for less where it is certain that nobody spoke', async () => {
    for (const [noSpeech, wanted] of [
      [0.95, ''],
      [0.85, 'you'],
    ] as const)
      assert.equal(
        (await read({ plain: { text: 'you', logProbability: -0.9 } }, { noSpeech, hotwords: [] })).text,
        wanted,
      );
  });

  it('is what was said, where somebody may have spoken and it is sure of itself', async () => {
    assert.equal(
      (await read({ plain: { ...good, logProbability: -0.4 } }, { noSpeech: 0.95, hotwords: [] })).text,
      good.text,
    );
  });
});
