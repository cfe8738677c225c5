import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { ModelEntry, RemoteOptions } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { Facts } from '../../core/telemetry.ts';
import { answers, createFixtureServer } from '../../engines/pool/__fixtures__/upstream-servers.ts';
import { systemClock } from '../../lib/clock.ts';
import { ENTRY, hear } from './__fixtures__/played-units.ts';
import { createOpenUnits } from './open-units.ts';
import type { OpenUnitsNeeds } from './open-units.ts';
import type { OpenedUnits } from './opened-units.ts';
import { createMemory } from './memory.ts';

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };
const REMOTE: RemoteOptions = { model: 'theirs', input: 'chat', forward: [], timeouts: {}, family: 'template' };
/** That nobody has installed. */
const NO_PROGRAM = '/nowhere/serve';

describe('what runs a model opens the units of its deployments', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-open-units-'));
  const weights = join(folder, 'w.gguf');
  writeFileSync(weights, 'not read before it starts');
  after(() => rmSync(folder, { recursive: true }));

  const open = (
    runs: ModelEntry['runs'],
    more: Partial<OpenUnitsNeeds> = {},
    signal = new AbortController().signal,
  ): Promise<OpenedUnits> =>
    createOpenUnits({
      kind: 'llama',
      llama: {
        sequences: 1,
        threads: 1,
        gpu: false,
        queuePlacesMax: 1,
        queueWaitMsMax: 1,
        runFolder: join(folder, 'run'),
      },
      preferred: undefined,
      catalogue: { weights: (id) => ({ id, sources: [], licence: '', contextTokensMax: 1 }) },
      weights: { locate: async () => weights },
      environment: {},
      memory: createMemory({ totalBytes: 0, availableBytes: () => 0 }),
      log,
      clock: systemClock,
      ...more,
    })({ name: 'svc-plus-a', entry: { ...ENTRY, runs }, units: 2, previous: undefined }, signal);
  /** Resolves with why a program that is not there did not start: nobody waits for its next try. */
  const failureOf = async (runs: ModelEntry['runs'], preferred: string): Promise<string> => {
    const leaving = new AbortController();
    let told = '';
    const warn = (_: string, facts: Facts = {}): void => {
      told = JSON.stringify(facts);
      leaving.abort(new ServiceError('cancelled', 'It is known.'));
    };
    await assert.rejects(open(runs, { preferred, log: { ...log, warn } }, leaving.signal));
    return told;
  };

  test('weights: the embedded engine', async () => {
    const opened = await open(ENTRY.runs);
    assert.deepEqual([opened.units.length, opened.reach], [2, { type: 'llama' }]);
    await opened.close();
  });

  test('weights that are not on this machine: nothing, and how they come there', async () => {
    const lost = open(ENTRY.runs, { weights: { locate: async () => undefined } });
    await assert.rejects(lost, {
      kind: 'overloaded',
      message: 'The weights of svc-plus are not on this machine: parley models pull svc-plus',
    });
  });

  test('weights where a server program is preferred: that program', async () => {
    assert.match(await failureOf(ENTRY.runs, NO_PROGRAM), new RegExp(NO_PROGRAM));
  });

  test('a program of its own: that one', async () => {
    const runs = {
      type: 'program',
      program: { command: NO_PROGRAM, args: [], environment: {} },
      remote: REMOTE,
    } as const;
    assert.match(await failureOf(runs, '/nowhere/other'), new RegExp(NO_PROGRAM));
  });

  test('servers elsewhere: those, also where everything of this machine is scripted', async (context) => {
    const server = await createFixtureServer(answers);
    context.after(() => server.stop());
    const opened = await open({ type: 'upstream', addresses: [server.url], remote: REMOTE }, { kind: 'scripted' });
    assert.deepEqual(opened.reach, { type: 'servers', addresses: [server.url] });
    assert.equal(opened.reason, '1 of 1 servers answer; one server is one unit.');
    await opened.close();
  });

  test('a script, where everything of this machine is scripted', async () => {
    const opened = await open(ENTRY.runs, { kind: 'scripted', weights: { locate: () => assert.fail() } });
    assert.deepEqual([opened.units.length, opened.reach], [2, { type: 'scripted' }]);
    assert.notEqual(await hear(opened.engine), '');
    await opened.close();
  });

  test('nothing yet: the reason of the catalogue', async () => {
    await assert.rejects(open({ type: 'none', reason: 'it has no engine yet' }), {
      kind: 'unsupported',
      message: 'svc-plus: it has no engine yet',
    });
  });
});
