import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WorkerLimitError } from '../lib/bounded-worker.ts';
import { createFairWorker, WorkerBusyError } from './fair-worker.ts';
import type { Asker, FairWorker, FairWorkerOptions } from './fair-worker.ts';

const of = (key: string, signal?: AbortSignal): Asker => ({ owner: { workspace: 'w', key }, signal });

describe('a thread that many wait for', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-worker-'));
  const main = pathToFileURL(join(folder, 'worker.mjs'));
  writeFileSync(
    main,
    `import { parentPort } from 'node:worker_threads';
     let count = 0;
     parentPort.on('message', (message) => {
       parentPort.postMessage({ type: 'begun', part: 0 });
       if (message === 'loop') for (;;);
       if (message !== 'hang') parentPort.postMessage({ type: 'done', result: message + ++count });
     });`,
  );
  const workers: FairWorker<string, string>[] = [];
  const create = (options: Partial<FairWorkerOptions> = {}): FairWorker<string, string> => {
    const worker = createFairWorker<string, string>({
      name: 'test',
      main,
      msMax: 10_000,
      heapMb: 32,
      placesMax: 4,
      waitMsMax: 10_000,
      ...options,
    });
    workers.push(worker);
    return worker;
  };
  after(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    rmSync(folder, { recursive: true });
  });
  const isBusy = (reason: string) => (error: unknown) => error instanceof WorkerBusyError && error.reason === reason;

  it('loses those who leave: they are not worked for, and hold no place', async () => {
    const worker = create();
    const first = worker.ask('a', of('k'));
    const caller = new AbortController();
    const left = [1, 2].map(() => assert.rejects(worker.ask('gone', of('k', caller.signal)), { kind: 'cancelled' }));
    await assert.rejects(worker.ask('no', of('k')), isBusy('key-share'));
    caller.abort();
    const [b, c] = [worker.ask('b', of('k')), worker.ask('c', of('k'))];
    assert.deepEqual([await first, await b, await c], ['a1', 'b2', 'c3']);
    await Promise.all(left);
    await assert.rejects(worker.ask('d', of('k', AbortSignal.abort())), { kind: 'cancelled' });
  });

  it('has so many places, and half of them for one key', async () => {
    const worker = create();
    const taken = [worker.ask('a', of('k')), ...['k', 'k', 'l', 'l'].map((key) => worker.ask('b', of(key)))];
    await assert.rejects(worker.ask('c', of('k')), isBusy('key-share'));
    await assert.rejects(worker.ask('c', of('m')), isBusy('full'));
    assert.equal((await Promise.all(taken)).length, 5);
  });

  it('works for background askers when no live one waits', async () => {
    const worker = create();
    const order: string[] = [];
    const background: Asker = { owner: { workspace: 'w', key: 'k', priority: 'background' } };
    const ask = (name: string, asker: Asker) => worker.ask(name, asker).then(() => order.push(name));
    await Promise.all([ask('running', of('k')), ask('behind', background), ask('live', of('k')), ask('more', of('l'))]);
    assert.deepEqual(order, ['running', 'live', 'more', 'behind']);
  });

  it('lets nobody wait for too long, but those that it works for', async () => {
    const worker = create({ waitMsMax: 30, msMax: 200 });
    const slow = assert.rejects(worker.ask('loop', of('k')), WorkerLimitError);
    await assert.rejects(worker.ask('a', of('k')), isBusy('wait'));
    await slow;
    assert.equal(await worker.ask('a', of('k')), 'a1');
  });

  it('is not to blame where it did not run: it was stopped, or the machine busy', async () => {
    let cpu = 0;
    let looks = 0;
    const { promise: oftenLooked, resolve } = Promise.withResolvers<void>();
    // It looks when it asks and when the thread begins, however late that is, and then each time that the time is over.
    const cpuMs = (): number => {
      if (++looks === 2 + 4) resolve();
      return cpu;
    };
    const worker = create({ msMax: 200, cpuMs });
    const answer = worker.ask('hang', of('k'));
    let isOver = false;
    const over = (): void => void (isOver = true);
    answer.then(over, over);
    await oftenLooked;
    await new Promise((turn) => setImmediate(turn));
    assert.equal(isOver, false);
    cpu = 1_000;
    await assert.rejects(answer, (error) => error instanceof WorkerLimitError && error.limit === 'time');
  });

  it('when it is closed leaves nobody waiting', async () => {
    const worker = create();
    const asked = Promise.allSettled([worker.ask('hang', of('k')), worker.ask('a', of('k'))]);
    await worker.close();
    assert.deepEqual(
      (await asked).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    await assert.rejects(worker.ask('b', of('k')), isBusy('full'));
  });
});
