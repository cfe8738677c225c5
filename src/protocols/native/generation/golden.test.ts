import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { toBatches, readGoldenCases } from './__fixtures__/golden-cases.ts';
import { encodeGeneration } from './encode.ts';
import { createGenerationStreamEncoder } from './stream.ts';

// Each folder is a test case: a request and events in, exact bytes out. GOLDEN=1 rewrites the expected bytes.
const isWriting = process.env['GOLDEN'] === '1';
const requestId = '00000000-0000-4000-8000-000000000000';

for (const { name, getPath, format, events } of readGoldenCases()) {
  test(`streams the golden bytes of ${name}`, () => {
    const encoder = createGenerationStreamEncoder(format, requestId);
    // One event per push, so that a cumulative stream shows each step.
    const frames = events.map((event) => encoder.push([event])).join('');
    compare(getPath('stream.sse'), encoder.open() + frames + encoder.close());
  });

  test(`answers the golden object of ${name}`, async () => {
    const result = await collectResult(toBatches(events));
    compare(getPath('response.json'), `${JSON.stringify(encodeGeneration(result, format, requestId), null, 2)}\n`);
  });

  test(`ends ${name} after a failure with an error event that has the next number`, () => {
    const encoder = createGenerationStreamEncoder(format, requestId);
    const frames = encoder.push(events.slice(0, -1)).match(/^id:/gm)?.length ?? 0;
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
    assert.equal(
      encoder.fail(new ServiceError('engine-failed', 'The engine\nstopped.')),
      `id:${frames + 1}\nevent:error\n:HTTP_STATUS/500\ndata:{"code":"InternalError","message":"An internal error has occured, please try again later or contact service support. The engine\\nstopped.","request_id":"${requestId}"}\n\n`,
    );
  });
}

test('sends keep-alives as comments, and the status of an error as a comment', () => {
  const [first] = readGoldenCases();
  assert.ok(first);
  const encoder = createGenerationStreamEncoder(first.format, requestId);
  assert.equal(encoder.keepAlive(), ':keep-alive\n\n');
  assert.equal(encoder.contentType, 'text/event-stream;charset=UTF-8');
  assert.match(encoder.fail(new ServiceError('overloaded', 'Busy.')), /^id:1\nevent:error\n:HTTP_STATUS\/503\ndata:\{/);
});

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
