import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNumberCheck } from './number-check.ts';
import { createPassage } from './passage.ts';

const SOURCES = [
  'The depot in Utrecht charges 55 buses overnight with cables of 75 kW. Four of its buses were sold in 2019.',
  'Charging at terminal stops takes between 3 and 6 minutes in Gothenburg, and 12 % of the trips are late.',
  'The Fresnel lens was first used in 1823. It did not need a clockwork. The tax rose to 5 million crowns.',
  '车库每晚用75千瓦的电缆为55辆公交车充电。这些公交车不需要柴油。',
] as const;

/** Each sentence uses the words of its source. */
const isSupported = (at: number, sentence: string): boolean =>
  createPassage(SOURCES[at] ?? assert.fail()).compareSentence(sentence).isSupported;

describe('compareSentence with the words of the source', () => {
  for (const [at, sentence] of [
    [0, 'In Utrecht, 55 buses are charged overnight at the depot with cables of 75 kW.'],
    [0, 'In 2019 the depot in Utrecht sold 4 of its buses.'],
    [1, 'Charging at terminal stops takes 3 to 6 minutes in Gothenburg.'],
    [1, 'Of the trips in Gothenburg, 12 percent are late.'],
    [2, 'In 1823 the Fresnel lens was first used.'],
    [2, 'A clockwork was not needed.'],
    [3, '车库用75千瓦的电缆每晚为55辆公交车充电。'],
  ] as const)
    it(`accepts: ${sentence}`, () => {
      assert.ok(isSupported(at, sentence));
    });

  for (const [at, sentence] of [
    [0, 'The depot in Utrecht charges 75 buses overnight with cables of 55 kW.'],
    [0, 'Three of its buses were sold in 2019.'],
    [0, 'The depot in Utrecht does not charge 55 buses overnight.'],
    [1, 'Charging at terminal stops takes between 3 and 6 hours in Gothenburg.'],
    [1, 'Charging at terminal stops takes 12 minutes in Gothenburg.'],
    [2, 'It did need a clockwork.'],
    [2, 'The tax rose to 5 billion crowns.'],
    [3, '车库每晚用55千瓦的电缆为75辆公交车充电。'],
    [3, '这些公交车需要柴油。'],
  ] as const)
    it(`detects a changed meaning: ${sentence}`, () => {
      assert.ok(!isSupported(at, sentence));
    });
});

describe('createNumberCheck', () => {
  const hasOtherNumber = createNumberCheck('Four buses charge for .5 hours at -5 degrees with 1,200 V.');

  for (const sentence of ['4 buses charge.', 'It takes 0.5 hours.', 'It was −5 degrees.', 'It needs 1.200 V.'])
    it(`finds the number: ${sentence}`, () => assert.equal(hasOtherNumber(sentence), false));

  for (const sentence of ['Five buses charge.', 'It takes 5 hours.', 'It was 5 degrees.', 'It needs 4 V.'])
    it(`does not find the number: ${sentence}`, () => assert.equal(hasOtherNumber(sentence), true));
});
