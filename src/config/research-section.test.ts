import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { loadConfig } from './load-config.ts';

const loadResearchSection = (section: string, env: Readonly<Record<string, string>> = {}) =>
  loadConfig({
    env: { PARLEY_DATA: '/srv/parley', ...env },
    readFile: () => section,
    folder: '/srv',
    cores: 2,
  }).config.research;

describe('the section `research`', () => {
  const defaults = {
    queries: 10,
    pages: 20,
    tokens: 200_000,
    minutes: 30,
    writer: 'model',
    streamPlan: false,
    runsPerKey: 2,
    runsPerWorkspace: 4,
  };

  it('has default budgets and limits', () => {
    assert.deepEqual(loadResearchSection(''), defaults);
  });

  it('reads the file and the environment', () => {
    const env = { PARLEY_RESEARCH_STREAM_PLAN: 'true', PARLEY_RESEARCH_RUNS_PER_KEY: '1' };
    assert.deepEqual(loadResearchSection('research: {queries: 3, writer: extractive}', env), {
      ...defaults,
      queries: 3,
      writer: 'extractive',
      streamPlan: true,
      runsPerKey: 1,
    });
  });

  for (const [section, message] of [
    ['queries: 0', /research\.queries must be a whole number from 1 to 100/],
    ['tokens: 999', /research\.tokens must be a whole number from 1000 to/],
    ['writer: poet', /research\.writer must be one of model, extractive/],
    ['runsPerKey: many', /research\.runsPerKey must be a whole number/],
  ] as const) {
    it(`rejects ${section}`, () => {
      assert.throws(
        () => loadResearchSection(`research: {${section}}`),
        (thrown) => thrown instanceof ServiceError && message.test(thrown.message),
      );
    });
  }
});
