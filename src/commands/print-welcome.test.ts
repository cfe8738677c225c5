import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServiceReport } from '../service/readiness.ts';
import { printWelcome } from './print-welcome.ts';

/** Starts printing while sandbox verification is pending. */
function startPrinting({ isTTY, isNew }: { readonly isTTY?: boolean; readonly isNew?: boolean } = {}) {
  const texts: string[] = [];
  const stop = new AbortController();
  const tools = Promise.withResolvers<void>();
  let state: 'on' | 'unproven' = 'unproven';
  const report = async (): Promise<ServiceReport> => ({
    interfaces: [{ name: 'Messages', state: 'off', paths: [], regions: [] }],
    models: [],
    tools: [{ tool: 'code interpreter', state }],
    storage: { state: 'ok' },
  });
  const printed = printWelcome({
    service: { buildReport: report },
    tools: tools.promise,
    signal: stop.signal,
    stdout: { isTTY, write: (text) => texts.push(text) },
    addresses: [],
    key: isNew === undefined ? undefined : { secret: 'sk-secret', isNew },
    keyFile: 'key',
  });
  return {
    stop,
    printed,
    async readOutput() {
      await nextTurn();
      return texts.join('');
    },
    prove() {
      state = 'on';
      tools.resolve();
    },
  };
}

describe('start-up text', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  test('shows the secret of a new key on a terminal only: other output may be kept as the log of a container', async () => {
    for (const [options, expected] of [
      [{ isTTY: true, isNew: true }, 'Key (shown once, saved in key):\n  sk-secret'],
      [{ isTTY: true, isNew: false }, 'Key: see key\n'],
      [{ isNew: true }, 'Key: see key\n'],
    ] as const) {
      const start = startPrinting(options);
      start.prove();
      const output = await start.readOutput();
      assert.ok(output.includes(expected), output);
      assert.equal(output.includes('sk-secret'), expected.includes('sk-secret'));
    }
  });

  test('waits for sandbox verification', async () => {
    const start = startPrinting();
    mock.timers.tick(4_999);
    assert.equal(await start.readOutput(), '');
    start.prove();
    assert.match(await start.readOutput(), /code interpreter +on/);
  });

  test('does not wait longer than the limit', async () => {
    const start = startPrinting();
    mock.timers.tick(5_000);
    assert.match(await start.readOutput(), /code interpreter +unproven/);
  });

  test('is not printed if the service stops before', async () => {
    const start = startPrinting();
    start.stop.abort();
    await start.printed;
    assert.equal(await start.readOutput(), '');
  });
});
