import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findNumberProblem } from './find-number-problem.ts';

describe('findNumberProblem', () => {
  for (const [source, translation] of [
    ['It costs $1,234.50 today.', 'Es kostet heute 1.234,50 $.'],
    ['12 000 people and 3 dogs', '12,000 Menschen und drei Hunde'],
    ['About 12,000 people', '大约1.2万人'],
    ['3 million users', '300万用户'],
    ['1.5 million users in 2026', '1,5 Millionen Nutzer im Jahr 2026'],
    ['The train leaves at 3:30 pm.', 'Der Zug fährt um 15:30 Uhr.'],
    ['Call at 5 pm.', 'Rufen Sie um 17 Uhr an.'],
    ['Two cats are 5 km away.', '两只猫在5公里外。'],
    ['20 °C and 50 %', '摄氏20度和50％'],
    ['May 5, 2026', '2026年5月5日'],
    ['in the 1990s', '在1990年代'],
    ['In 2026 300 people came.', '300 Menschen kamen 2026.'],
    ['5 days', '٥ أيام'],
    ['from 2 to 5 parts', '2到5个零件'],
    ['5 kg for 3 days', '5 Kilogramm für 3 Tage'],
    ['Fifty or two hundred', '50 oder 200'],
    ['Nothing to count.', 'Nichts zu zählen.'],
  ] as const)
    it(`accepts ${JSON.stringify(translation)} for ${JSON.stringify(source)}`, () =>
      assert.equal(findNumberProblem(source, translation), undefined));

  for (const [source, translation, wrong] of [
    ['It costs 1,250 euros.', 'Es kostet 1.350 Euro.', ['1,250 euros']],
    ['The lake is 5 km away.', 'Der See ist 5 m entfernt.', ['5 km']],
    ['It has 20 °C.', 'Es sind 20 °F.', ['20 °C']],
    ['Pay $50.', 'Zahlen Sie 50 €.', ['50']],
    ['In 3 days', 'In 3 Wochen', ['3 days']],
    ['12,000 people', '120万人', ['12,000']],
    ['40 people', 'viele Menschen', ['40']],
    ['Some people', 'Etwa 437 Menschen', []],
    ['5 of 50 and 50', '5 von 50', ['50']],
  ] as const)
    it(`refuses ${JSON.stringify(translation)} for ${JSON.stringify(source)}`, () =>
      assert.deepEqual(findNumberProblem(source, translation), [...wrong]));
});
