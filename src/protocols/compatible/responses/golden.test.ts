import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { parseBody } from '../../parse.ts';
import { countedIds } from '../items/__fixtures__/counted-ids.ts';
import { itemsOf } from '../items/items-of.ts';
import { readItem } from '../items/read-item.ts';
import { told } from './__fixtures__/told.ts';
import { decode } from './decode.ts';
import { askedFields } from './head.ts';
import { ResponseBody } from './schema.ts';
import { responseStream } from './stream.ts';

// A folder is a test: request, history and events in, exact bytes out. GOLDEN=1 writes the bytes anew; the diff is reviewed.
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
    asked: askedFields(wire, { sampling: { temperature: 0.7 } }),
  };
  const events = readFileSync(at('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GenerationEvent);
  const isWhole = events.at(-1)?.type === 'end';

  test(`puts the request of ${name} into the golden messages`, () => {
    const items = (list: unknown, field: string) =>
      itemsOf(list, { ids: countedIds(), at: field, kinds: 'all' }).map(readItem);
    const input = items(typeof wire.input === 'string' ? [{ role: 'user', content: wire.input }] : wire.input, 'input');
    const history = existsSync(at('history.json')) ? items(read('history.json'), 'history') : [];
    const { messages } = decode(wire, { history, input }).without(0);
    compare(at('messages.json'), pretty(messages));
  });

  test(`streams the golden bytes of ${name}`, async () => {
    const encoder = responseStream(head);
    const said = encoder.open() + encoder.push((await told(events, head)).events);
    const end = isWhole ? encoder.close() : encoder.fail(new ServiceError('engine-failed', 'The engine\nstopped.'));
    compare(at('stream.sse'), said + end);
  });

  if (isWhole) {
    test(`answers the golden object of ${name}`, async () => {
      compare(at('response.json'), pretty((await told(events, head)).response));
    });
  }

  test(`has no end for ${name} before its end`, async () => {
    const encoder = responseStream(head);
    encoder.push((await told(events.slice(0, -1), head)).events);
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
  });
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}
