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
    ['It weighs 1.50 kg.', 'Es wiegt 1,5 kg.'],
    ['At 3:30 p.m.', 'À 15h30'],
    ['On 5/12/2020', 'Am 12.5.2020'],
    ['2,500万人', '25 million people'],
    ['It has -5 °C.', 'Es sind minus 5 °C.'],
    ['今天零下5度', "Today it's -5 °C"],
    ['1,234,567.5 users', '1.234.567,5 Nutzer'],
    ['Version 1.10.2', 'Version 1.10.2'],
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
    ['It is 3.5 km long.', 'Es ist 35 km lang.', ['3.5 km']],
    ['It weighs 1.5 kg.', 'Es wiegt 15 kg.', ['1.5 kg']],
    ['It has -5 °C.', 'Es sind 5 °C.', ['5 °C']],
    ['Version 1.40.2', 'Version 1.41.2', ['1.40.2']],
    ['5 of 50 and 50', '5 von 50', ['50']],
  ] as const)
    it(`refuses ${JSON.stringify(translation)} for ${JSON.stringify(source)}`, () =>
      assert.deepEqual(findNumberProblem(source, translation), [...wrong]));
});
