import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { ModelEntry, RemoteOptions } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { LogFields } from '../../core/telemetry.ts';
import { respondFully, startFakeUpstreamServer } from '../../engines/pool/__fixtures__/fake-upstream-server.ts';
import { systemClock } from '../../lib/clock.ts';
import { encodeGguf } from '../../weights/__fixtures__/gguf.ts';
import { createTestAdapter } from '../../weights/__fixtures__/test-adapter.ts';
import { createGgufHead } from '../../weights/__fixtures__/test-gguf-head.ts';
import { TEST_ENTRY, collectText } from './__fixtures__/fake-units.ts';
import { createOpenUnits, type OpenUnitsDeps } from './open-units.ts';
import type { DeploymentUnits } from './deployment-units.ts';
import { createMemoryBudget } from './memory-budget.ts';
import { TEST_LLAMA_SETTINGS } from './__fixtures__/llama-settings.ts';

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };
const REMOTE: RemoteOptions = { model: 'theirs', input: 'chat', forward: [], timeouts: {}, family: 'template' };
/** A program that is not installed. */
const NO_PROGRAM = '/nowhere/serve';

describe('createOpenUnits', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-open-units-'));
  const weights = join(folder, 'w.gguf');
  writeFileSync(weights, createGgufHead({ 'general.architecture': 'any' }));
  after(() => rmSync(folder, { recursive: true }));

  const open = (
    runs: ModelEntry['runner'],
    overrides: Partial<OpenUnitsDeps> = {},
    signal = new AbortController().signal,
  ): Promise<DeploymentUnits> =>
    createOpenUnits({
      kind: 'llama',
      llama: { ...TEST_LLAMA_SETTINGS, sequences: 1, runFolder: join(folder, 'run') },
      preferredProgram: undefined,
      catalogue: { weights: (id) => ({ id, sources: [], licence: '', contextTokensMax: 1 }) },
      weights: { inspect: async () => ({ state: 'present', path: weights }) },
      environment: {},
      memory: createMemoryBudget({ totalBytes: 0, availableBytes: () => 0 }),
      log,
      clock: systemClock,
      ...overrides,
    })({ name: 'svc-plus-a', entry: { ...TEST_ENTRY, runner: runs }, units: 2, previous: undefined }, signal);
  /** Returns the log fields of the failed start of a missing program, then aborts the opening instead of waiting for a retry. */
  const readStartFailure = async (runs: ModelEntry['runner'], preferred: string): Promise<string> => {
    const controller = new AbortController();
    let failure = '';
    const warn = (_: string, fields: LogFields = {}): void => {
      failure = JSON.stringify(fields);
      controller.abort(new ServiceError('cancelled', 'The failure is recorded.'));
    };
    await assert.rejects(open(runs, { preferredProgram: preferred, log: { ...log, warn } }, controller.signal));
    return failure;
  };

  test('opens the embedded engine for weights', async () => {
    const opened = await open(TEST_ENTRY.runner);
    assert.deepEqual([opened.units.length, opened.connection], [2, { type: 'llama' }]);
    await opened.close();
  });

  test('refuses missing weights, and says how to download them', async () => {
    const opening = open(TEST_ENTRY.runner, { weights: { inspect: async () => ({ state: 'missing' }) } });
    await assert.rejects(opening, {
      kind: 'overloaded',
      message: 'The weights of svc-plus are not on this machine: parley models pull svc-plus',
    });
  });

  test('refuses damaged weights, and says how to repair them', async () => {
    const inspect = async () =>
      ({ state: 'refused', path: '/models/w.gguf', problem: 'its content is wrong' }) as const;
    await assert.rejects(open(TEST_ENTRY.runner, { weights: { inspect } }), {
      kind: 'overloaded',
      message: /w\.gguf: its content is wrong.* parley models pull svc-plus$/,
    });
  });

  test('refuses a malformed model file, and says what is wrong with it', async () => {
    const malformed = join(folder, 'malformed.gguf');
    writeFileSync(malformed, 'GGML');
    const program = { command: NO_PROGRAM, args: [], environment: {} };
    for (const runs of [TEST_ENTRY.runner, { type: 'program', program, weights: 'w', remote: REMOTE } as const])
      await assert.rejects(open(runs, { weights: { inspect: async () => ({ state: 'present', path: malformed }) } }), {
        kind: 'overloaded',
        message: /^The model file malformed\.gguf is malformed: .* The operator must replace it\.$/,
      });
  });

  test('refuses an adapter that the engine cannot load, and names its setting', async () => {
    const adapter = { name: 'tuned', base: 'svc-plus', path: join(folder, 'nowhere') };
    const program = { command: 'vllm', args: [], environment: {}, adapters: [adapter] } as const;
    assert.ok(TEST_ENTRY.runner.type === 'weights');
    for (const runs of [{ ...TEST_ENTRY.runner, adapter }, { type: 'program', program, remote: REMOTE } as const])
      await assert.rejects(open(runs), {
        kind: 'overloaded',
        message: /^models\.svc-plus\.adapters\.tuned: .*nowhere cannot be used: it cannot be read.* \(ENOENT\)/,
      });
  });

  test('runs an adapter with a scale in the embedded engine, also when a program is preferred', async () => {
    writeFileSync(
      weights,
      encodeGguf({ 'general.architecture': 'any' }, { m: { shape: [4, 4], values: new Float32Array(16) } }),
    );
    const path = join(folder, 'adapter.gguf');
    writeFileSync(path, createTestAdapter({ matrices: { m: [4, 4] }, architecture: 'any' }));
    assert.ok(TEST_ENTRY.runner.type === 'weights');
    const adapter = { name: 'tuned', base: 'svc-plus', path };
    const opened = await open(
      { ...TEST_ENTRY.runner, adapter: { ...adapter, scale: 0.5 } },
      { preferredProgram: NO_PROGRAM },
    );
    assert.deepEqual(opened.connection, { type: 'llama' });
    await opened.close();
    const failure = await readStartFailure({ ...TEST_ENTRY.runner, adapter }, NO_PROGRAM);
    assert.match(failure, new RegExp(NO_PROGRAM));
  });

  test('opens the preferred server program for weights', async () => {
    assert.match(await readStartFailure(TEST_ENTRY.runner, NO_PROGRAM), new RegExp(NO_PROGRAM));
  });

  test('opens the program that the entry names', async () => {
    const runs = {
      type: 'program',
      program: { command: NO_PROGRAM, args: [], environment: {} },
      remote: REMOTE,
    } as const;
    assert.match(await readStartFailure(runs, '/nowhere/other'), new RegExp(NO_PROGRAM));
  });

  test('opens upstream servers, also when local engines are scripted', async (context) => {
    const server = await startFakeUpstreamServer(respondFully);
    context.after(() => server.stop());
    const opened = await open({ type: 'upstream', addresses: [server.url], remote: REMOTE }, { kind: 'scripted' });
    assert.deepEqual(opened.connection, { type: 'servers', addresses: [server.url] });
    assert.equal(opened.reason, '1 of 1 upstream servers answer; each server is one unit.');
    await opened.close();
  });

  test('opens a scripted engine when local engines are scripted', async () => {
    const opened = await open(TEST_ENTRY.runner, { kind: 'scripted', weights: { inspect: () => assert.fail() } });
    assert.deepEqual([opened.units.length, opened.connection], [2, { type: 'scripted' }]);
    assert.notEqual(await collectText(opened.engine), '');
    await opened.close();
  });

  test('refuses an entry without engine with the reason of the catalogue', async () => {
    await assert.rejects(open({ type: 'none', reason: 'it has no engine yet' }), {
      kind: 'unsupported',
      message: 'svc-plus: it has no engine yet',
    });
  });
});
