import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_PROGRAMS_MAX } from './limits.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ProgramPlan } from '../server-engines.ts';
import { TEST_ENTRY, collectText } from './__fixtures__/fake-units.ts';
import { createEngineView } from './engine-view.ts';
import type { DeploymentUnits } from './deployment-units.ts';
import { createOpenProgramUnits } from './program-units.ts';
import { createMemoryBudget } from './memory-budget.ts';

const NEVER = new AbortController().signal;
const PLAN: ProgramPlan = {
  command: 'llama-server',
  model: 'm.gguf',
  args: [],
  environment: {},
  contextTokens: 4_096,
  remote: { model: 'm', input: 'prompt', forward: [], timeouts: {}, family: 'template' },
};
const MIB = 2 ** 20;

describe('createOpenProgramUnits', () => {
  /** Names of the running programs. */
  let running: string[];
  /** Memory of each program, and free memory, in bytes. */
  let programBytes: number;
  let availableBytes: number;
  /** Error of every program from this number on. */
  let failure: { readonly from: number; readonly error: ServiceError } | undefined;
  let open: ReturnType<typeof createOpenProgramUnits>;
  beforeEach(() => {
    running = [];
    programBytes = 100 * MIB;
    availableBytes = 100_000 * MIB;
    failure = undefined;
    open = createOpenProgramUnits();
  });

  const create = async (name: string) => {
    const inner = createScriptedEngine({ script: () => [{ type: 'tokens', tokens: [`by ${name}`] }] });
    const engine: TextEngine = {
      ...createEngineView(inner),
      async close() {
        running.splice(running.indexOf(name), 1);
        availableBytes += programBytes;
      },
    };
    const waitUntilReady = async (): Promise<void> => {
      if (failure && running.length + 1 >= failure.from) {
        running.push(name);
        availableBytes -= programBytes;
        throw failure.error;
      }
      running.push(name);
      availableBytes -= programBytes;
    };
    const state = 'failing' as const;
    return { engine, server: { waitUntilReady, confirmExit: async () => true, state, stop: async () => undefined } };
  };
  const start = (units: number, previous?: DeploymentUnits, plan = PLAN, signal = NEVER) =>
    open(
      { name: 'a', entry: TEST_ENTRY, units, previous },
      {
        create,
        plan,
        memory: createMemoryBudget({ totalBytes: 0, availableBytes: () => availableBytes }),
        log: { info: () => undefined, warn: () => undefined, error: () => undefined },
        clock: systemClock,
        settleMs: 1,
      },
      signal,
    );

  test('opens one program for each unit behind one engine, and closes all with it', async () => {
    const opened = await start(3);
    assert.deepEqual(running, ['a 1', 'a 2', 'a 3']);
    assert.deepEqual([opened.units.length, opened.processes.length, opened.reason], [3, 3, undefined]);
    assert.match(await collectText(opened.engine), /^by a \d$/);
    assert.deepEqual(opened.connection, { type: 'programs', plan: PLAN });
    await opened.close();
    assert.deepEqual(running, []);
  });

  test('takes over running programs, and closes only those that are no longer wanted', async () => {
    const three = await start(3);
    const four = await start(4, three);
    assert.deepEqual(four.units.slice(0, 3), three.units);
    await three.close();
    assert.deepEqual(running, ['a 1', 'a 2', 'a 3', 'a 4']);
    const one = await start(1, four);
    await four.close();
    assert.deepEqual(running, ['a 1']);
    assert.equal(await collectText(one.engine), 'by a 1');
    await one.close();
    assert.deepEqual(running, []);
  });

  test('does not take over programs of another plan', async () => {
    const earlier = await start(1);
    const later = await start(1, earlier, { ...PLAN, contextTokens: 512 });
    assert.notEqual(later.units[0], earlier.units[0]);
    const same = await start(1, later, { ...PLAN, contextTokens: 512 });
    assert.equal(same.units[0], later.units[0]);
  });

  test('opens as many programs as fit into memory, judging by the running ones', async () => {
    availableBytes = DEPLOYMENT_MEMORY_RESERVE_BYTES + 250 * MIB;
    const { units, reason } = await start(5);
    assert.equal(units.length, 2);
    assert.equal(
      reason,
      'Memory suffices for 2 of 5 units: each needs 100 MiB; 562 MiB are available, and 512 MiB stay free.',
    );
    assert.equal(running.length, 2);
  });

  test('opens at least one program, however little memory is free', async () => {
    availableBytes = 0;
    const { units, reason } = await start(2);
    assert.equal(units.length, 1);
    assert.match(reason ?? '', /^Memory suffices for 1 of 2 units/);
  });

  test('opens fewer units when one fails to start, and fails when the first does', async () => {
    failure = { from: 2, error: new ServiceError('overloaded', 'No port is free.') };
    const { units, reason } = await start(3);
    assert.equal(units.length, 1);
    assert.equal(reason, 'Unit 2 of 3 fails to start: No port is free.');
    assert.deepEqual(running, ['a 1']);
    running = [];
    failure = { ...failure, from: 1 };
    await assert.rejects(start(3), /No port is free/);
    assert.deepEqual(running, []);
  });

  test('closes new programs when the opening is aborted, and keeps those it took over', async () => {
    const earlier = await start(1);
    const controller = new AbortController();
    failure = { from: 3, error: new ServiceError('overloaded', 'It takes too long.') };
    const opening = start(9, earlier, PLAN, controller.signal);
    controller.abort(new ServiceError('cancelled', 'I left.'));
    await assert.rejects(opening, /I left/);
    assert.deepEqual(running, ['a 1']);
    await earlier.close();
    assert.deepEqual(running, []);
  });

  test('limits the number of programs on one machine', async () => {
    programBytes = 0;
    const opened = await start(DEPLOYMENT_PROGRAMS_MAX + 5);
    assert.equal(opened.units.length, DEPLOYMENT_PROGRAMS_MAX);
    assert.match(opened.reason ?? '', /at most 64 server programs/);
  });
});
