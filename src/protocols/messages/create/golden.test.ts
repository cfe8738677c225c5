import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { parseBody } from '../../parse.ts';
import { encodeMessage } from './encode.ts';
import { MessagesBody } from './schema.ts';
import { createMessageStreamEncoder } from './stream.ts';

// Each folder is a test case: a request and events in, exact bytes out. GOLDEN=1 rewrites the expected bytes.
const folder = join(import.meta.dirname, '__fixtures__');
const isWriting = process.env['GOLDEN'] === '1';

for (const name of readdirSync(folder)) {
  const getPath = (file: string): string => join(folder, name, file);
  const { wire, unknown } = parseBody(MessagesBody, JSON.parse(readFileSync(getPath('request.json'), 'utf8')));
  const head = {
    requestId: '00000000-0000-4000-8000-000000000000',
    model: wire.model,
    startedAt: Date.UTC(2026, 0, 1),
  };
  const events = readFileSync(getPath('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GenerationEvent);

  test(`streams the golden bytes of ${name}`, () => {
    assert.deepEqual(unknown, []);
    const encoder = createMessageStreamEncoder(head);
    compare(getPath('stream.sse'), encoder.open() + encoder.push(events) + encoder.close());
  });

  test(`answers the golden object of ${name}`, async () => {
    compare(
      getPath('response.json'),
      `${JSON.stringify(encodeMessage(head, await collectResult(toBatches(events))), null, 2)}\n`,
    );
  });

  test(`ends ${name} after a failure with an error event and no end mark`, () => {
    const encoder = createMessageStreamEncoder(head);
    const frames = encoder.push(events.slice(0, -1));
    assert.doesNotMatch(frames, /message_stop|message_delta/);
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
    assert.equal(
      encoder.fail(new ServiceError('overloaded', 'Full.')),
      `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Full."},"request_id":"${head.requestId}"}\n\n`,
    );
  });
}

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}

async function* toBatches<T>(batch: T): AsyncGenerator<T> {
  yield batch;
}
