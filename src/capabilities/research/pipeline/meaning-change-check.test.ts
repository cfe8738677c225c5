import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPassage } from '../../../generation/citations/passage.ts';
import { createMeaningChangeCheck } from './meaning-change-check.ts';

const SOURCES = [
  'The depot in Utrecht charges 55 buses overnight with cables of 75 kW. Four of its buses were sold in 2019.',
  'Charging at terminal stops takes between 3 and 6 minutes in Gothenburg, and 12 % of the trips are late.',
  'The Fresnel lens was first used in 1823. It did not need a clockwork. The tax rose to 5 million crowns.',
  '车库每晚用75千瓦的电缆为55辆公交车充电。这些公交车不需要柴油。',
] as const;

const changesMeaning = (at: number, sentence: string): boolean => {
  const source = SOURCES[at] ?? assert.fail();
  return createMeaningChangeCheck(source)(sentence, createPassage(source).findNearestSentence(sentence));
};

describe('createMeaningChangeCheck', () => {
  for (const [at, sentence] of [
    [0, 'In Utrecht, 55 buses are charged overnight at the depot with cables of 75 kW.'],
    [0, 'In 2019 the depot in Utrecht sold 4 of its buses.'],
    [1, 'Opportunity charging at terminal stops takes 3 to 6 minutes in Gothenburg.'],
    [1, 'Of the trips in Gothenburg, 12 percent are late.'],
    [2, 'In 1823 the Fresnel lens was first used.'],
    [2, 'A clockwork was not needed.'],
    [3, '车库用75千瓦的电缆每晚为55辆公交车充电。'],
  ] as const)
    it(`accepts: ${sentence}`, () => {
      assert.equal(changesMeaning(at, sentence), false);
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
      assert.equal(changesMeaning(at, sentence), true);
    });
});
