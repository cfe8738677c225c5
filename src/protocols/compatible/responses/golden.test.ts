import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { parseBody } from '../../parse.ts';
import { createCountingIds } from '../items/__fixtures__/fake-ids.ts';
import { createItems } from '../items/create-items.ts';
import { parseStoredItem } from '../items/stored-item.ts';
import { runTestTurn } from './__fixtures__/test-turn.ts';
import { decodeResponseTurn } from './decode.ts';
import { encodeRequestFields } from './head.ts';
import { ResponseBody } from './schema.ts';
import { createResponseStreamEncoder } from './stream.ts';

// Each folder is a test case: request, history and events in, exact bytes out. GOLDEN=1 rewrites the expected bytes.
const folder = join(import.meta.dirname, '__fixtures__');
const isWriting = process.env['GOLDEN'] === '1';

for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
  const at = (file: string): string => join(folder, name, file);
  const read = (file: string): unknown => JSON.parse(readFileSync(at(file), 'utf8'));
  const { wire } = parseBody(ResponseBody, read('request.json'));
  const head = {
    id: 'resp_0123456789abcdef0123456789abcdef',
    created: 1771165900,
    model: wire.model,
    requestFields: encodeRequestFields(wire, { sampling: { temperature: 0.7 } }),
  };
  const events = readFileSync(at('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GenerationEvent);
  const isWhole = events.at(-1)?.type === 'end';

  test(`decodes the request of ${name} to the golden messages`, () => {
    const items = (list: unknown, field: string) =>
      createItems(list, { ids: createCountingIds(), field: field, kinds: 'all', max: 99 }).map(parseStoredItem);
    const input = items(typeof wire.input === 'string' ? [{ role: 'user', content: wire.input }] : wire.input, 'input');
    const history = existsSync(at('history.json')) ? items(read('history.json'), 'history') : [];
    const { messages } = decodeResponseTurn(wire, { history, input }).withoutOldestTurns(0);
    compare(at('messages.json'), pretty(messages));
  });

  test(`streams the golden bytes of ${name}`, async () => {
    const encoder = createResponseStreamEncoder(head);
    const streamed = encoder.open() + encoder.push((await runTestTurn(events, head)).events);
    const end = isWhole ? encoder.close() : encoder.fail(new ServiceError('engine-failed', 'The engine\nstopped.'));
    compare(at('stream.sse'), streamed + end);
  });

  if (isWhole) {
    test(`encodes the golden object of ${name}`, async () => {
      compare(at('response.json'), pretty((await runTestTurn(events, head)).response));
    });
  }

  test(`cannot close the stream of ${name} before its last event`, async () => {
    const encoder = createResponseStreamEncoder(head);
    encoder.push((await runTestTurn(events.slice(0, -1), head)).events);
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
  });
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
