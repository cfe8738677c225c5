import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_PROGRAMS_MAX } from '../../core/limits.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ProgramPlan } from '../server-engines.ts';
import { ENTRY, hear } from './__fixtures__/played-units.ts';
import { lentEngine } from './lent-engine.ts';
import type { OpenedUnits } from './opened-units.ts';
import { createProgramUnits } from './program-units.ts';
import { createMemory } from './memory.ts';

const NEVER = new AbortController().signal;
const PLAN: ProgramPlan = {
  form: 'llama-server',
  model: 'm.gguf',
  args: [],
  environment: {},
  contextTokens: 4_096,
  remote: { model: 'm', input: 'prompt', forward: [], timeouts: {}, family: 'template' },
};
const MIB = 2 ** 20;

describe('server programs as units', () => {
  /** Names of those that run. */
  let running: string[];
  /** What each takes, and what there is, in bytes. */
  let programBytes: number;
  let availableBytes: number;
  /** Why the programs from this one on do not start. */
  let failure: { readonly from: number; readonly error: ServiceError } | undefined;
  let open: ReturnType<typeof createProgramUnits>;
  beforeEach(() => {
    running = [];
    programBytes = 100 * MIB;
    availableBytes = 100_000 * MIB;
    failure = undefined;
    open = createProgramUnits();
  });

  const create = async (name: string) => {
    const inner = createScriptedEngine({ script: () => [{ type: 'tokens', tokens: [`by ${name}`] }] });
    const engine: TextEngine = {
      ...lentEngine(inner),
      async close() {
        running.splice(running.indexOf(name), 1);
        availableBytes += programBytes;
      },
    };
    const ready = async (): Promise<void> => {
      if (failure && running.length + 1 >= failure.from) {
        running.push(name);
        availableBytes -= programBytes;
        throw failure.error;
      }
      running.push(name);
      availableBytes -= programBytes;
    };
    const state = 'failing' as const;
    return { engine, server: { ready, gone: async () => true, state, stop: async () => undefined } };
  };
  const start = (units: number, previous?: OpenedUnits, plan = PLAN, signal = NEVER) =>
    open(
      { name: 'a', entry: ENTRY, units, previous },
      {
        create,
        plan,
        memory: createMemory({ totalBytes: 0, availableBytes: () => availableBytes }),
        log: { info: () => undefined, warn: () => undefined, error: () => undefined },
        clock: systemClock,
        settleMs: 1,
      },
      signal,
    );

  test('are one program each, all of which answer as one engine, and all end with it', async () => {
    const opened = await start(3);
    assert.deepEqual(running, ['a 1', 'a 2', 'a 3']);
    assert.deepEqual([opened.units.length, opened.processes.length, opened.reason], [3, 3, undefined]);
    assert.match(await hear(opened.engine), /^by a \d$/);
    assert.deepEqual(opened.reach, { type: 'programs', plan: PLAN });
    await opened.close();
    assert.deepEqual(running, []);
  });

  test('that serve already are taken over, and only what is not wanted any more ends', async () => {
    const three = await start(3);
    const four = await start(4, three);
    assert.deepEqual(four.units.slice(0, 3), three.units);
    await three.close();
    assert.deepEqual(running, ['a 1', 'a 2', 'a 3', 'a 4']);
    const one = await start(1, four);
    await four.close();
    assert.deepEqual(running, ['a 1']);
    assert.equal(await hear(one.engine), 'by a 1');
    await one.close();
    assert.deepEqual(running, []);
  });

  test('of another plan are not taken over', async () => {
    const earlier = await start(1);
    const later = await start(1, earlier, { ...PLAN, contextTokens: 512 });
    assert.notEqual(later.units[0], earlier.units[0]);
    const same = await start(1, later, { ...PLAN, contextTokens: 512 });
    assert.equal(same.units[0], later.units[0]);
  });

  test('are as many as memory holds, by what the others took', async () => {
    availableBytes = DEPLOYMENT_MEMORY_RESERVE_BYTES + 250 * MIB;
    const { units, reason } = await start(5);
    assert.equal(units.length, 2);
    assert.equal(reason, 'Memory holds 2 of 5 units: one takes 100 MiB; 562 MiB are available, and 512 MiB stay free.');
    assert.equal(running.length, 2);
  });

  test('are one at least, however little memory there is', async () => {
    availableBytes = 0;
    const { units, reason } = await start(2);
    assert.equal(units.length, 1);
    assert.match(reason ?? '', /^Memory holds 1 of 2 units/);
  });

  test('are fewer where one does not start, and none where the first does not', async () => {
    failure = { from: 2, error: new ServiceError('overloaded', 'No port is free.') };
    const { units, reason } = await start(3);
    assert.equal(units.length, 1);
    assert.equal(reason, 'Unit 2 of 3 does not start: No port is free.');
    assert.deepEqual(running, ['a 1']);
    running = [];
    failure = { ...failure, from: 1 };
    await assert.rejects(start(3), /No port is free/);
    assert.deepEqual(running, []);
  });

  test('end where nobody waits for them any more, but for those that were taken over', async () => {
    const earlier = await start(1);
    const leaving = new AbortController();
    failure = { from: 3, error: new ServiceError('overloaded', 'It takes too long.') };
    const opening = start(9, earlier, PLAN, leaving.signal);
    leaving.abort(new ServiceError('cancelled', 'I left.'));
    await assert.rejects(opening, /I left/);
    assert.deepEqual(running, ['a 1']);
    await earlier.close();
    assert.deepEqual(running, []);
  });

  test('have a limit on one machine', async () => {
    programBytes = 0;
    const opened = await start(DEPLOYMENT_PROGRAMS_MAX + 5);
    assert.equal(opened.units.length, DEPLOYMENT_PROGRAMS_MAX);
    assert.match(opened.reason ?? '', /at most 64 server programs/);
  });
});
