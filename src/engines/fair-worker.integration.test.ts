import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WorkerLimitError } from '../lib/bounded-worker.ts';
import {
  createFairWorker,
  WorkerBusyError,
  type Caller,
  type FairWorker,
  type FairWorkerOptions,
} from './fair-worker.ts';

const of = (key: string, signal?: AbortSignal): Caller => ({ owner: { workspace: 'w', key }, signal });

describe('createFairWorker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-worker-'));
  const main = pathToFileURL(join(folder, 'worker.mjs'));
  writeFileSync(
    main,
    `import { parentPort } from 'node:worker_threads';
     let count = 0;
     parentPort.on('message', (message) => {
       parentPort.postMessage({ type: 'started', part: 0 });
       if (message === 'loop') for (;;);
       if (message !== 'hang') parentPort.postMessage({ type: 'done', result: message + ++count });
     });`,
  );
  const workers: FairWorker<string, string>[] = [];
  const create = (options: Partial<FairWorkerOptions> = {}): FairWorker<string, string> => {
    const worker = createFairWorker<string, string>({
      name: 'test',
      entryUrl: main,
      msMax: 10_000,
      heapMb: 32,
      queueLengthMax: 4,
      queueWaitMsMax: 10_000,
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

  it('drops the messages of callers that abort, and frees their queue entries', async () => {
    const worker = create();
    const first = worker.run('a', of('k'));
    const caller = new AbortController();
    const left = [1, 2].map(() => assert.rejects(worker.run('gone', of('k', caller.signal)), { kind: 'cancelled' }));
    await assert.rejects(worker.run('no', of('k')), isBusy('key-share'));
    caller.abort();
    const [b, c] = [worker.run('b', of('k')), worker.run('c', of('k'))];
    assert.deepEqual([await first, await b, await c], ['a1', 'b2', 'c3']);
    await Promise.all(left);
    await assert.rejects(worker.run('d', of('k', AbortSignal.abort())), { kind: 'cancelled' });
  });

  it('limits the queue, and one key to half of it', async () => {
    const worker = create();
    const taken = [worker.run('a', of('k')), ...['k', 'k', 'l', 'l'].map((key) => worker.run('b', of(key)))];
    await assert.rejects(worker.run('c', of('k')), isBusy('key-share'));
    await assert.rejects(worker.run('c', of('m')), isBusy('full'));
    assert.equal((await Promise.all(taken)).length, 5);
  });

  it('runs background messages when no live one waits', async () => {
    const worker = create();
    const order: string[] = [];
    const background: Caller = { owner: { workspace: 'w', key: 'k', priority: 'background' } };
    const runNamed = (name: string, sender: Caller) => worker.run(name, sender).then(() => order.push(name));
    await Promise.all([
      runNamed('running', of('k')),
      runNamed('behind', background),
      runNamed('live', of('k')),
      runNamed('more', of('l')),
    ]);
    assert.deepEqual(order, ['running', 'live', 'more', 'behind']);
  });

  it('rejects a message that waits too long, but not one that runs', async () => {
    const worker = create({ queueWaitMsMax: 30, msMax: 200 });
    const slow = assert.rejects(worker.run('loop', of('k')), WorkerLimitError);
    await assert.rejects(worker.run('a', of('k')), isBusy('wait'));
    await slow;
    assert.equal(await worker.run('a', of('k')), 'a1');
  });

  it('does not count time in which the thread did not run: the process was suspended or the machine busy', async () => {
    let cpu = 0;
    let looks = 0;
    const { promise: oftenLooked, resolve } = Promise.withResolvers<void>();
    // The time is read when the message is sent and when the thread starts it, and then whenever the limit has passed.
    const cpuMs = (): number => {
      if (++looks === 2 + 4) resolve();
      return cpu;
    };
    const worker = create({ msMax: 200, getCpuMs: cpuMs });
    const answer = worker.run('hang', of('k'));
    let isOver = false;
    const markSettled = (): void => void (isOver = true);
    answer.then(markSettled, markSettled);
    await oftenLooked;
    await new Promise((turn) => setImmediate(turn));
    assert.equal(isOver, false);
    cpu = 1_000;
    await assert.rejects(answer, (error) => error instanceof WorkerLimitError && error.limit === 'time');
  });

  it('rejects all waiting messages when it is closed', async () => {
    const worker = create();
    const results = Promise.allSettled([worker.run('hang', of('k')), worker.run('a', of('k'))]);
    await worker.close();
    assert.deepEqual(
      (await results).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    await assert.rejects(worker.run('b', of('k')), isBusy('full'));
  });
});
