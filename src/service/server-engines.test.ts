import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { planProgram } from './server-engines.ts';

function planContext(record: Readonly<Record<string, unknown>>): number | undefined {
  const [entry] = expandCatalogue(parseCatalogueAdditions({ models: { m: record } })).entries;
  assert.ok(entry?.runner.type === 'program');
  return planProgram(entry, entry.runner, undefined).contextTokens;
}

test('leaves the context of a program to it unless the entry states one', () => {
  for (const command of ['vllm', 'sglang', 'llama-server']) {
    assert.equal(planContext({ command, upstreamModel: 'org/model' }), undefined);
    assert.equal(planContext({ command, upstreamModel: 'org/model', contextTokens: 1_000 }), 1_000);
  }
});

test('has a number for a command of the operator, which may contain {context}', () => {
  assert.equal(planContext({ command: ['serve', '{port}', '{context}'], upstreamModel: 'm' }), 8_192);
});
