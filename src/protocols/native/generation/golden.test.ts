import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { collect } from '../../../generation/collect.ts';
import { batchesOf, goldenCases } from './__fixtures__/golden-cases.ts';
import { encode } from './encode.ts';
import { generationStream } from './stream.ts';

// A folder is a test: request and events in, exact bytes out. GOLDEN=1 writes the bytes anew; the diff is reviewed.
const isWriting = process.env['GOLDEN'] === '1';
const requestId = '00000000-0000-4000-8000-000000000000';

for (const { name, at, form, events } of goldenCases()) {
  test(`streams the golden bytes of ${name}`, () => {
    const encoder = generationStream(form, requestId);
    // One by one, so that a cumulative stream shows each step.
    const said = events.map((event) => encoder.push([event])).join('');
    compare(at('stream.sse'), encoder.open() + said + encoder.close());
  });

  test(`answers the golden object of ${name}`, async () => {
    const result = await collect(batchesOf(events));
    compare(at('response.json'), `${JSON.stringify(encode(result, form, requestId), null, 2)}\n`);
  });

  test(`breaks off ${name} with an error event, numbered on, and nothing behind it`, () => {
    const encoder = generationStream(form, requestId);
    const frames = encoder.push(events.slice(0, -1)).match(/^id:/gm)?.length ?? 0;
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
    assert.equal(
      encoder.fail(new ServiceError('engine-failed', 'The engine\nstopped.')),
      `id:${frames + 1}\nevent:error\n:HTTP_STATUS/500\ndata:{"code":"InternalError","message":"An internal error has occured, please try again later or contact service support. The engine\\nstopped.","request_id":"${requestId}"}\n\n`,
    );
  });
}

test('a stream keeps alive with a comment, and breaks off with the real status as one', () => {
  const [first] = goldenCases();
  assert.ok(first);
  const encoder = generationStream(first.form, requestId);
  assert.equal(encoder.keepAlive(), ':keep-alive\n\n');
  assert.equal(encoder.contentType, 'text/event-stream;charset=UTF-8');
  assert.match(encoder.fail(new ServiceError('overloaded', 'Busy.')), /^id:1\nevent:error\n:HTTP_STATUS\/503\ndata:\{/);
});

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
