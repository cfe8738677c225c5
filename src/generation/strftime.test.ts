import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strftime } from './strftime.ts';

test('strftime formats a date in UTC', () => {
  const cases = [
    ['2026-07-04T08:05:09Z', '%d %b %Y', '04 Jul 2026'],
    ['2026-07-04T08:05:09Z', '%B %d, %Y', 'July 04, 2026'],
    ['2026-07-04T08:05:09Z', '%Y-%m-%d', '2026-07-04'],
    ['2026-07-04T08:05:09Z', '%A (%a) %H:%M:%S', 'Saturday (Sat) 08:05:09'],
    ['2026-01-01T00:00:00Z', '%y %j', '26 001'],
    ['2024-12-31T23:59:59Z', '%j', '366'],
    ['2024-12-31T23:30:00-02:00', '%d.%m.%y', '01.01.25'],
    ['2026-07-04T08:05:09Z', '100%% %Q 5%', '100% %Q 5%'],
    ['2026-07-04T08:05:09Z', '%%d', '%d'],
    ['2026-07-04T08:05:09Z', '', ''],
  ] as const;
  for (const [at, format, expected] of cases) assert.equal(strftime(new Date(at), format), expected, format);
});
