import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Report } from '../service/readiness.ts';
import { tellStart } from './tell-start.ts';

/** A start, while it is being found out whether the interpreter holds. */
function begin() {
  const said: string[] = [];
  const stop = new AbortController();
  const tools = Promise.withResolvers<void>();
  let state: 'on' | 'unproven' = 'unproven';
  const report = async (): Promise<Report> => ({
    interfaces: [{ name: 'Messages', state: 'off', paths: [], regions: [] }],
    models: [],
    tools: [{ tool: 'code interpreter', state }],
  });
  const told = tellStart({
    service: { report },
    tools: tools.promise,
    signal: stop.signal,
    stdout: { write: (text) => said.push(text) },
    addresses: [],
    key: undefined,
    keyFile: 'key',
  });
  return {
    stop,
    told,
    async said() {
      await nextTurn();
      return said.join('');
    },
    prove() {
      state = 'on';
      tools.resolve();
    },
  };
}

describe('the first lines', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  test('wait until it is known whether programs can be contained', async () => {
    const start = begin();
    mock.timers.tick(4_999);
    assert.equal(await start.said(), '');
    start.prove();
    assert.match(await start.said(), /code interpreter +on/);
  });

  test('do not wait for long', async () => {
    const start = begin();
    mock.timers.tick(5_000);
    assert.match(await start.said(), /code interpreter +unproven/);
  });

  test('are not told any more where the service stops', async () => {
    const start = begin();
    start.stop.abort();
    await start.told;
    assert.equal(await start.said(), '');
  });
});
