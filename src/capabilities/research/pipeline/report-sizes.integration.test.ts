import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RESEARCH_REPORT_TOKENS } from './limits.ts';
import { ServiceError } from '../../../core/error.ts';
import { REPORT_SIZES } from '../research.ts';
import { checkReport } from './__fixtures__/check-report.ts';
import { LIGHTHOUSE_PLAN, LIGHTHOUSE_MESSAGES, createManyPages } from './__fixtures__/test-pages.ts';
import { createTestResearch, collectReport } from './__fixtures__/test-research.ts';

/** Documents of the local index: beyond the page budget, their passages are still citable. */
const PAGES = createManyPages(240).map((page) => ({ ...page, isOwn: true as const }));

/** CPU seconds of this thread for one report over 240 pages. */
const CPU_SECONDS_MAX = 5;

describe('report over 240 pages', () => {
  for (const size of REPORT_SIZES)
    it(`has the requested size and only supported sentences: ${size}`, async () => {
      const research = createTestResearch({
        pages: PAGES,
        answer: (prompt) => (prompt.includes('JSON') ? LIGHTHOUSE_PLAN : ''),
      });
      const before = process.threadCpuUsage();
      const { report, references, reason } = collectReport(await research.run(LIGHTHOUSE_MESSAGES, { size }));
      const { user, system } = process.threadCpuUsage(before);
      assert.ok((user + system) / 1e6 < CPU_SECONDS_MAX, `took ${(user + system) / 1e6} s`);
      const { min, max } = RESEARCH_REPORT_TOKENS[size];
      const tokens = report.match(/\s?\p{L}{1,6}|\s?\p{N}|\s?[^\s\p{L}\p{N}]+/gu)?.length ?? 0;
      assert.ok(tokens >= min && tokens <= max, `has ${tokens} tokens`);
      assert.equal(reason, 'stop');
      const read = ({ url }: { readonly url: string }): string => PAGES.find((page) => page.url === url)?.passage ?? '';
      assert.deepEqual(await checkReport({ report, references, read }), []);
    });

  it('is sized by estimated tokens when the engine cannot tokenize', async () => {
    let calls = 0;
    const research = createTestResearch({
      pages: PAGES,
      tokenize: async () => {
        calls++;
        throw new ServiceError('unsupported', 'This server has no tokenizer.');
      },
    });
    const { report } = collectReport(await research.run(LIGHTHOUSE_MESSAGES));
    assert.equal(calls, 1);
    assert.ok(report.length > 4_000 && report.length < 9_000, `has ${report.length} characters`);
  });
});
