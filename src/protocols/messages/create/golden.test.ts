import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import { collect } from '../../../generation/collect.ts';
import { parseBody } from '../../parse.ts';
import { encode } from './encode.ts';
import { MessagesBody } from './schema.ts';
import { messageStream } from './stream.ts';

// A folder is a test: request and events in, exact bytes out. GOLDEN=1 writes the bytes anew; the diff is reviewed.
const folder = join(import.meta.dirname, '__fixtures__');
const isWriting = process.env['GOLDEN'] === '1';

for (const name of readdirSync(folder)) {
  const at = (file: string): string => join(folder, name, file);
  const { wire, unknown } = parseBody(MessagesBody, JSON.parse(readFileSync(at('request.json'), 'utf8')));
  const head = {
    requestId: '00000000-0000-4000-8000-000000000000',
    model: wire.model,
    startedAt: Date.UTC(2026, 0, 1),
  };
  const events = readFileSync(at('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GenerationEvent);

  test(`streams the golden bytes of ${name}`, () => {
    assert.deepEqual(unknown, []);
    const encoder = messageStream(head);
    compare(at('stream.sse'), encoder.open() + encoder.push(events) + encoder.close());
  });

  test(`answers the golden object of ${name}`, async () => {
    compare(at('response.json'), `${JSON.stringify(encode(head, await collect(one(events))), null, 2)}\n`);
  });

  test(`breaks off ${name} with an error event and no end`, () => {
    const encoder = messageStream(head);
    const said = encoder.push(events.slice(0, -1));
    assert.doesNotMatch(said, /message_stop|message_delta/);
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

async function* one<T>(batch: T): AsyncGenerator<T> {
  yield batch;
}
