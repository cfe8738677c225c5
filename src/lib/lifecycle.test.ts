import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLifecycle, openAllOrNone, type Lifecycle, type StartTimer } from './lifecycle.ts';

const NAMES = ['store', 'engines', 'jobs', 'http'] as const;
const CLOSE_MS_MAX = 1_000;

interface Failures {
  readonly atOpen?: string;
  readonly atClose?: readonly string[];
}

/** Opens all parts, each recording its calls. */
async function openParts(lifecycle: Lifecycle, calls: string[], { atOpen, atClose = [] }: Failures = {}) {
  for (const name of NAMES)
    await lifecycle.open(
      name,
      () => {
        if (name === atOpen) throw new Error(`cannot open ${name}`);
        calls.push(`open ${name}`);
        return name;
      },
      (part) => {
        calls.push(`close ${part}`);
        if (atClose.includes(name)) throw new Error(`cannot close ${name}`);
      },
    );
}

const listCloses = (names: readonly string[]) => names.toReversed().map((name) => `close ${name}`);

describe('lifecycle', () => {
  test('closes in reverse order, once', async () => {
    const calls: string[] = [];
    const lifecycle = createLifecycle({ closeMsMax: CLOSE_MS_MAX });
    await openParts(lifecycle, calls);
    await Promise.all([lifecycle.closeAll(), lifecycle.closeAll()]);
    await lifecycle.closeAll();
    assert.deepEqual(calls, [...NAMES.map((name) => `open ${name}`), ...listCloses(NAMES)]);
  });

  for (const [index, name] of NAMES.entries())
    test(`closes what was opened before ${name} fails to open`, async () => {
      const calls: string[] = [];
      const lifecycle = createLifecycle({ closeMsMax: CLOSE_MS_MAX });
      const closeErrors: unknown[] = [];
      await assert.rejects(
        openAllOrNone(
          lifecycle,
          () => openParts(lifecycle, calls, { atOpen: name, atClose: NAMES }),
          (error) => void closeErrors.push(error),
        ),
        new Error(`cannot open ${name}`),
      );
      const reported = closeErrors.flatMap((error) => (error instanceof AggregateError ? error.errors : [error]));
      const failed = NAMES.slice(0, index).toReversed();
      assert.deepEqual(
        reported,
        failed.map((each) => new Error(`cannot close ${each}`)),
      );
      assert.deepEqual(calls.slice(index), listCloses(NAMES.slice(0, index)));
    });

  for (const name of NAMES)
    test(`closes everything although ${name} fails to close, and throws its error`, async () => {
      const calls: string[] = [];
      const lifecycle = createLifecycle({ closeMsMax: CLOSE_MS_MAX });
      await openParts(lifecycle, calls, { atClose: [name] });
      await assert.rejects(lifecycle.closeAll(), new Error(`cannot close ${name}`));
      assert.deepEqual(calls.slice(NAMES.length), listCloses(NAMES));
    });

  test('throws the errors of several parts together', async () => {
    const lifecycle = createLifecycle({ closeMsMax: CLOSE_MS_MAX });
    await openParts(lifecycle, [], { atClose: ['store', 'jobs'] });
    await assert.rejects(lifecycle.closeAll(), (error) => {
      assert(error instanceof AggregateError);
      assert.deepEqual(error.errors, [new Error('cannot close jobs'), new Error('cannot close store')]);
      assert.equal(error.message, 'Error: cannot close jobs; Error: cannot close store');
      return true;
    });
  });

  test('gives up a part that does not close in time, and closes the others', async () => {
    const timers = new Set<() => void>();
    const startTimer: StartTimer = (ms, run) => {
      assert.equal(ms, CLOSE_MS_MAX);
      timers.add(run);
      return () => void timers.delete(run);
    };
    const lifecycle = createLifecycle({ closeMsMax: CLOSE_MS_MAX, startTimer });
    const calls: string[] = [];
    const { promise: hanging, reject: failLater } = Promise.withResolvers<void>();
    await openParts(lifecycle, calls);
    await lifecycle.open(
      'slow',
      () => undefined,
      () => hanging,
    );
    const closed = lifecycle.closeAll();
    for (const run of timers) run();
    await assert.rejects(closed, new Error('slow did not close within 1000 ms'));
    assert.deepEqual(calls.slice(NAMES.length), listCloses(NAMES));
    assert.equal(timers.size, 0);
    failLater(new Error('too late to be reported'));
  });
});
