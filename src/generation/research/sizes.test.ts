import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RESEARCH_REPORT_TOKENS } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import { REPORT_SIZES } from '../../core/research.ts';
import { checkReport } from './__fixtures__/check-report.ts';
import { LIGHTHOUSE_PLAN, LIGHTHOUSE_TURNS, manyPages } from './__fixtures__/pages.ts';
import { createStudy, reportOf } from './__fixtures__/study.ts';

/** Documents of the local index: those that are beyond the budget of pages have a passage that was found in them. */
const PAGES = manyPages(240).map((page) => ({ ...page, isOwn: true as const }));

/** Ours: seconds of the processor in this thread for one report over so many pages. */
const CPU_SECONDS_MAX = 5;

describe('the size of a report over 240 pages', () => {
  for (const size of REPORT_SIZES)
    it(`is within its bounds, and all of it is true: ${size}`, async () => {
      const study = createStudy({
        pages: PAGES,
        answer: (prompt) => (prompt.includes('JSON') ? LIGHTHOUSE_PLAN : ''),
      });
      const before = process.threadCpuUsage();
      const { report, references, reason } = reportOf(await study.run(LIGHTHOUSE_TURNS, { size }));
      const { user, system } = process.threadCpuUsage(before);
      assert.ok((user + system) / 1e6 < CPU_SECONDS_MAX, `took ${(user + system) / 1e6} s`);
      const { min, max } = RESEARCH_REPORT_TOKENS[size];
      const tokens = report.match(/\s?\p{L}{1,6}|\s?\p{N}|\s?[^\s\p{L}\p{N}]+/gu)?.length ?? 0;
      assert.ok(tokens >= min && tokens <= max, `has ${tokens} tokens`);
      assert.equal(reason, 'stop');
      const read = ({ url }: { readonly url: string }): string => PAGES.find((page) => page.url === url)?.passage ?? '';
      assert.deepEqual(await checkReport({ report, references, read }), []);
    });

  it('is estimated where an engine keeps its tokens to itself', async () => {
    let asked = 0;
    const study = createStudy({
      pages: PAGES,
      tokenize: async () => {
        asked++;
        throw new ServiceError('unsupported', 'This server does not tell its tokens.');
      },
    });
    const { report } = reportOf(await study.run(LIGHTHOUSE_TURNS));
    assert.equal(asked, 1);
    assert.ok(report.length > 4_000 && report.length < 9_000, `has ${report.length} characters`);
  });
});
