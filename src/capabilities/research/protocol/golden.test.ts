import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { ResearchEvent } from '../research.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { findPhaseFaults } from './__fixtures__/find-phase-faults.ts';
import { readGoldenCases } from './__fixtures__/golden-cases.ts';
import { createResearchStreamEncoder } from './stream.ts';

// Each folder is a test case: events in, exact bytes out. GOLDEN=1 rewrites the expected bytes.
const isWriting = process.env['GOLDEN'] === '1';
const requestId = '00000000-0000-4000-8000-000000000000';

function streamToBytes(batches: readonly (readonly ResearchEvent[])[], streamPlan: boolean): string {
  const encoder = createResearchStreamEncoder({ streamPlan }, requestId);
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

for (const { name, getPath, events } of readGoldenCases()) {
  const hasPlan = events.some(({ type }) => type === 'plan');
  for (const [file, streamPlan] of [
    ['stream.sse', false],
    ...(hasPlan ? [['plan-streamed.sse', true] as const] : []),
  ] as const) {
    test(`streams the golden bytes of ${name}/${file}, pushed one by one and all at once`, () => {
      const bytes = streamToBytes([events], streamPlan);
      compare(getPath(file), bytes);
      assert.equal(
        streamToBytes(
          events.map((event) => [event]),
          streamPlan,
        ),
        bytes,
      );
      const frames = createSseParser({ sizeMax: 1_000_000 }).push(bytes);
      assert.deepEqual(findPhaseFaults(frames, { step: name === 'question' ? 1 : 2, streamPlan }), []);
    });
  }

  test(`ends ${name} after a failure with an error event that has the next number`, () => {
    const encoder = createResearchStreamEncoder({ streamPlan: false }, requestId);
    const frames = encoder.push(events.slice(0, -1)).match(/^id:/gm)?.length ?? 0;
    assert.throws(() => encoder.close(), {
      kind: 'engine-failed',
      message: 'The deep research stopped before its end.',
    });
    assert.equal(
      encoder.fail(new ServiceError('timeout', 'It took\nlong.')),
      `id:${frames + 1}\nevent:error\n:HTTP_STATUS/504\ndata:{"code":"RequestTimeOut","message":"Request timed out, please try again later. It took\\nlong.","request_id":"${requestId}"}\n\n`,
    );
  });
}

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
