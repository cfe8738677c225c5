import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { ResearchEvent } from '../../../core/research.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { checkPhases } from './__fixtures__/check-phases.ts';
import { goldenCases } from './__fixtures__/golden-cases.ts';
import { researchStream } from './stream.ts';

// A folder is a test: events in, exact bytes out. GOLDEN=1 writes the bytes anew; the diff is reviewed.
const isWriting = process.env['GOLDEN'] === '1';
const requestId = '00000000-0000-4000-8000-000000000000';

function bytesOf(batches: readonly (readonly ResearchEvent[])[], streamPlan: boolean): string {
  const encoder = researchStream({ streamPlan }, requestId);
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

for (const { name, at, events } of goldenCases()) {
  const hasPlan = events.some(({ type }) => type === 'plan');
  for (const [file, streamPlan] of [
    ['stream.sse', false],
    ...(hasPlan ? [['plan-told.sse', true] as const] : []),
  ] as const) {
    test(`streams the golden bytes of ${name}/${file}, one by one and all at once`, () => {
      const bytes = bytesOf([events], streamPlan);
      compare(at(file), bytes);
      assert.equal(
        bytesOf(
          events.map((event) => [event]),
          streamPlan,
        ),
        bytes,
      );
      const frames = createSseParser({ sizeMax: 1_000_000 }).push(bytes);
      assert.deepEqual(checkPhases(frames, { step: name === 'question' ? 1 : 2, streamPlan }), []);
    });
  }

  test(`breaks off ${name} with an error event, numbered on`, () => {
    const encoder = researchStream({ streamPlan: false }, requestId);
    const frames = encoder.push(events.slice(0, -1)).match(/^id:/gm)?.length ?? 0;
    assert.throws(() => encoder.close(), { kind: 'engine-failed', message: 'The research broke off before its end.' });
    assert.equal(
      encoder.fail(new ServiceError('timeout', 'It took\nlong.')),
      `id:${frames + 1}\nevent:error\n:HTTP_STATUS/500\ndata:{"code":"RequestTimeOut","message":"Request timed out, please try again later. It took\\nlong.","request_id":"${requestId}"}\n\n`,
    );
  });
}

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
