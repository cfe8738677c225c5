import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reference } from '../../research.ts';
import { checkReport } from './check-report.ts';

const SOURCE = 'The tower of Cordouan was finished in 1611. Its lamp was lit by keepers.';
const reference = (index: number): Reference => ({
  index,
  title: 'Cordouan',
  description: '',
  url: `https://example.com/${index}`,
  icon: '',
});
const findFaults = (report: string, references = [reference(1)]): Promise<readonly string[]> =>
  checkReport({ report, references, read: () => SOURCE });

const GOOD = '# Towers\n\n## Cordouan\n\nThe tower of Cordouan was finished in 1611 [[1]].\n';

describe('checkReport', () => {
  it('accepts a correct report, with or without a closing note', async () => {
    assert.deepEqual(await findFaults(GOOD), []);
    assert.deepEqual(await findFaults(`${GOOD}\n*This research searched for “towers”.*\n`), []);
  });

  it('accepts a sentence below the heading that it names, and no other', async () => {
    const source = 'Lamps\n\nsetLamp\n\nSets the lamp for all towers. See keepers.\n\nsetDoor\n\nSets the door.';
    const check = (sentence: string) =>
      checkReport({
        report: `# Towers\n\n## Lamps\n\n${sentence} [[1]].\n`,
        references: [reference(1)],
        read: () => source,
      });
    assert.deepEqual(await check('setLamp: Sets the lamp for all towers'), []);
    assert.match((await check('setDoor: Sets the lamp for all towers')).join(), /not borne out/);
  });

  for (const [report, fault] of [
    [GOOD.replace('1611', '1711'), /not borne out by 1/],
    [GOOD.replace(' [[1]]', ''), /no mark/],
    [GOOD.replace('[[1]]', '[[2]]'), /no reference 2/],
    [`${GOOD}\nThe tower of Cordouan was finished in 1611 [[1]].\n`, /said twice/],
    [`${GOOD}\n## Empty\n`, /nothing stands under/],
    [GOOD.slice(2), /title/],
    [`*Words of its own.*\n${GOOD}`, /no mark|title/],
  ] as const)
    it(`reports ${fault.source}`, async () => {
      assert.match((await findFaults(report)).join('\n'), fault);
    });

  it('reports references that are not cited or out of order', async () => {
    assert.match((await findFaults(GOOD, [reference(1), reference(2)])).join('\n'), /reference 2 is not cited/);
    const turned = `${GOOD.replace('[[1]]', '[[2]]')}\nIts lamp was lit by keepers every night [[1]].\n`;
    assert.match((await findFaults(turned, [reference(1), reference(2)])).join('\n'), /in the order 2, 1/);
  });
});
