import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WeightsCheckOutcome } from '../core/telemetry.ts';
import type { Weights } from '../core/weights.ts';
import type { Verification } from '../weights/verify-weights.ts';
import type { WeightsStatus } from '../weights/weights-status.ts';
import { createWeightsMonitor } from './weights-monitor.ts';

const WEIGHTS: Weights = { id: 'w', licence: '', contextTokensMax: 1, sources: [] };
const PRESENT: WeightsStatus = { state: 'present', path: '/models/w.gguf' };
const REFUSED = { state: 'refused', path: '/models/w.gguf', problem: 'its content is wrong' } as const;

/** Creates a monitor whose timers the test runs. */
function createScenario() {
  const scenario = {
    status: PRESENT,
    verify: async (): Promise<Verification> => ({ outcome: 'intact' }),
    timers: [] as (() => void)[],
    outcomes: [] as WeightsCheckOutcome[],
    messages: [] as string[],
  };
  const add = (message: string): void => void scenario.messages.push(message);
  const checked = Promise.withResolvers<void>();
  const monitor = createWeightsMonitor({
    weights: { inspect: async () => scenario.status, verify: () => scenario.verify() },
    log: { info: add, warn: add, error: add },
    hash: async () => '',
    onChecked(outcome) {
      scenario.outcomes.push(outcome);
      setImmediate(checked.resolve);
    },
    delayMs: 1,
    startTimer: (_ms, run) => {
      scenario.timers.push(run);
      return () => undefined;
    },
  });
  const guard = monitor.createGuard(WEIGHTS, { model: 'm', path: '/models/w.gguf' });
  const runTimers = async (): Promise<void> => {
    for (const run of scenario.timers) run();
    await checked.promise;
  };
  return { scenario, monitor, guard, runTimers };
}

test('checks weights in the background, once for all starts of their processes until then', async () => {
  const { scenario, guard, runTimers } = createScenario();
  await guard.check();
  await guard.check();
  await runTimers();
  assert.deepEqual([scenario.outcomes, scenario.timers.length], [['intact'], 1]);
  await guard.check();
  assert.equal(scenario.timers.length, 2);
});

test('stops the processes of weights that turn out to be damaged', async () => {
  const { scenario, guard, runTimers } = createScenario();
  let stops = 0;
  guard.onRevoked(() => stops++);
  guard.onRevoked(() => stops++)();
  await guard.check();
  scenario.verify = async () => ({ outcome: 'damaged', refusal: REFUSED });
  await runTimers();
  assert.deepEqual([stops, scenario.messages], [1, ['weights damaged: the model is stopped']]);
  scenario.status = REFUSED;
  await assert.rejects(guard.check(), { kind: 'overloaded', message: /its content is wrong.*parley models pull m$/ });
  // After a repair, the new content is checked, too.
  scenario.status = PRESENT;
  await guard.check();
  assert.equal(scenario.timers.length, 2);
});

test('warns of a file without a known hash that changed, which stays in use', async () => {
  const { scenario, monitor, guard, runTimers } = createScenario();
  guard.onRevoked(() => assert.fail('the process was stopped'));
  await guard.check();
  scenario.verify = async () => ({ outcome: 'changed', path: '/own.gguf' });
  assert.equal(monitor.getWarning('w'), undefined);
  await runTimers();
  assert.match(monitor.getWarning('w') ?? '', /\/own\.gguf changed without a change of its size and time/);
});

test('says that weights are missing or elsewhere', async () => {
  const { scenario, guard } = createScenario();
  scenario.status = { state: 'missing' };
  await assert.rejects(guard.check(), { message: /not on this machine: parley models pull m$/ });
  scenario.status = { state: 'present', path: '/other/w.gguf' };
  await assert.rejects(guard.check(), { message: /another folder.*restart Parley/ });
});

test('counts a check that fails, and checks nothing after its end', async () => {
  const { scenario, monitor, guard, runTimers } = createScenario();
  await guard.check();
  scenario.verify = async () => {
    throw new Error('EIO');
  };
  await runTimers();
  assert.deepEqual([scenario.outcomes, scenario.messages], [['failed'], ['weights could not be verified']]);
  await monitor.close();
  await monitor.createGuard({ ...WEIGHTS, id: 'other' }, { model: 'm', path: '/models/w.gguf' }).check();
  assert.equal(scenario.timers.length, 1);
});
