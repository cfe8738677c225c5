import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readIdentifiers } from './identifiers.ts';

describe('readIdentifiers', () => {
  for (const [text, ...names] of [
    ['Set max_age and gc.disable() before notify().', 'max_age', 'disable', 'notify'],
    ['It calls json.dumps(value) and os.path.is_file.', 'dumps', 'is_file'],
    ['The end.The next one (see above) costs 3.5 euros.'],
    ['An option _max_age_ of Session.MAX_AGE.', 'max_age'],
  ] as const)
    it(`reads ${JSON.stringify(names)} in: ${text}`, () => assert.deepEqual([...readIdentifiers(text)], names));

  it('takes linear time for long rows of words and periods', () => {
    const before = process.cpuUsage();
    for (const part of ['a.', 'a', '_', 'a_', 'a.b(', '(', '.'])
      for (let run = 0; run < 10; run++) readIdentifiers(`vacuum ${part.repeat(60_000 / part.length)}`);
    assert.ok(process.cpuUsage(before).user < 10_000_000);
  });
});
