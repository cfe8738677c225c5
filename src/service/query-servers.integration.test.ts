import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { assert as assertState } from '../lib/assert.ts';
import { startFakeServer } from '../engines/upstream/__fixtures__/fake-server.ts';
import { queryServers } from './query-servers.ts';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function createEntry(record: Record<string, unknown>) {
  const [entry] = expandCatalogue(parseCatalogueAdditions({ models: { far: record } })).entries;
  assertState(entry, 'the record has an entry');
  return entry;
}

const query = (record: Record<string, unknown>) => queryServers(createEntry(record), { environment: {}, log });

test('completes the entry of a server with the context that it reports, under any of the usual names', async () => {
  for (const field of ['max_model_len', 'context_length', 'context_window', 'max_context_length']) {
    await using server = await startFakeServer({ '/v1/models': { data: [{ id: 'far', [field]: 200_000 }] } });
    const { entry, isContextKnown, problem } = await query({ url: `${server.baseUrl}/v1` });
    assert.equal(entry.contextTokens, 200_000, field);
    assert.deepEqual({ isContextKnown, problem }, { isContextKnown: true, problem: undefined });
  }
});

test('says that the context is unknown where the server does not report it, or cannot be reached', async () => {
  await using server = await startFakeServer({ '/v1/models': { data: [{ id: 'far' }] } });
  const silent = await query({ url: `${server.baseUrl}/v1` });
  assert.deepEqual([silent.isContextKnown, silent.problem], [false, undefined]);
  const unreachable = await query({ url: 'http://127.0.0.1:9/v1' });
  assert.equal(unreachable.isContextKnown, false);
  assert.match(unreachable.problem ?? '', /ECONNREFUSED|refused|127\.0\.0\.1:9/i);
});

test('keeps a declared context', async () => {
  await using server = await startFakeServer({ '/v1/models': { data: [{ id: 'far', max_model_len: 200_000 }] } });
  const { entry, isContextKnown } = await query({ url: `${server.baseUrl}/v1`, contextTokens: 1_000 });
  assert.deepEqual([entry.contextTokens, isContextKnown], [1_000, true]);
});
