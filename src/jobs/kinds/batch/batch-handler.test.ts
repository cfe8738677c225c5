import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDisk } from '../../../blobs/disk.ts';
import type { JobProgress, JobRecord } from '../../../core/job.ts';
import type { Batches, BatchWork } from '../../../resources/batches/batch.ts';
import { createBatches } from '../../../resources/batches/service.ts';
import { createBatchWork } from '../../../resources/batches/work.ts';
import { createFiles } from '../../../resources/files/service.ts';
import { sqliteDialect } from '../../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { createBatchHandler } from './batch-handler.ts';
import type { ExecuteLine, LineWish } from './execute-line.ts';

const OWNER = { region: 'cn-beijing', workspace: 'w', keyId: 'key_1' } as const;
const DAY_MS = 86_400_000;
const ROOMY = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const quiet = () => undefined;

const promptOf = ({ body }: LineWish): string => String(body['prompt']);
const answer = (wish: LineWish) => ({
  status: 200,
  requestId: 'RID',
  body: { said: promptOf(wish) },
  headers: undefined,
  error: undefined,
  retryAfterSeconds: undefined,
});

describe('the work of a batch', () => {
  let folder = '';
  let store: Store;
  let blobs: BlobStore;
  let files: ReturnType<typeof createFiles>;
  let batches: Batches;
  let work: BatchWork;
  let nowMs = Date.parse('2026-07-01T12:00:00Z');
  const clock = { now: () => nowMs, monotonic: () => performance.now() };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-batch-handler-'));
    store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
    blobs = await openDisk({ folder: join(folder, 'blobs') });
    const needs = { store, blobs, clock, log: { warn: quiet }, bell: { ring: quiet }, limitsOf: () => ROOMY };
    files = createFiles(needs);
    batches = createBatches(needs);
    work = createBatchWork(needs);
  });
  after(async () => {
    await files.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  const handlerOf = (executeLine: ExecuteLine, change: Partial<BatchWork> = {}) =>
    createBatchHandler({
      work: { ...work, ...change },
      blobs,
      executeLine,
      isModel: (name) => name === 'm',
      clock,
      log: { info: quiet, error: quiet },
      concurrency: 4,
    });

  async function create(prompts: readonly string[]): Promise<JobRecord> {
    async function* input(): AsyncGenerator<Uint8Array> {
      for (const prompt of prompts) {
        const body = { model: 'm', prompt };
        const line = { custom_id: prompt, method: 'POST', url: '/v1/completions', body };
        yield Uint8Array.from(Buffer.from(`${JSON.stringify(line)}\n`));
      }
    }
    const received = await files.receive(OWNER, input());
    const draft = { name: 'in.jsonl', description: '', purpose: 'batch' };
    const [file] = await files.keep(OWNER, [{ received, draft }]);
    const { id } = await batches.create(OWNER, {
      inputFileId: file?.id ?? '',
      endpoint: '/v1/completions',
      completionWindow: '24h',
      windowMs: DAY_MS,
      metadata: new Map(),
    });
    return (await store.jobs.findBySubject('batch', id)) ?? assert.fail();
  }
  const runOf = (job: JobRecord, signal = new AbortController().signal, report: (_: JobProgress) => void = quiet) => ({
    job,
    signal,
    report,
  });
  const find = async ({ subject }: JobRecord) => (await work.find(subject)) ?? assert.fail();
  const idsIn = async (fileId: string | undefined): Promise<readonly string[]> => {
    if (fileId === undefined) return [];
    const text = await textOf(await files.read(await files.find(OWNER, fileId)));
    const lines = text.trimEnd().split('\n');
    return lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
  };
  const names = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `n${at}`);

  it('tells how far it is, in its steps', async () => {
    const job = await create(names(100));
    const told: JobProgress[] = [];
    const run = runOf(job, undefined, (progress) => told.push(progress));
    assert.deepEqual(await handlerOf(async (wish) => answer(wish)).run(run), { type: 'done' });
    const last = told.filter(({ step }) => step === 'in_progress').at(-1);
    assert.deepEqual(last, { done: 100, total: 100, step: 'in_progress' });
    assert.ok(told.every(({ done }, at) => done >= (told[at - 1]?.done ?? 0)));
    assert.deepEqual(told.at(-1), { done: 100, total: 100, step: 'finalizing' });
    assert.deepEqual(await idsIn((await find(job)).outputFileId), names(100));
  });

  it('goes on where it was stopped: no line that has its answer is asked again', async () => {
    const job = await create(names(60));
    const asked: string[] = [];
    const stop = new AbortController();
    const first = handlerOf(async (wish) => {
      asked.push(promptOf(wish));
      if (asked.length < 30) return answer(wish);
      stop.abort('shutdown');
      throw wish.signal.reason;
    });
    await first.run(runOf(job, stop.signal)).then(
      () => assert.fail('it was not stopped'),
      (reason: unknown) => assert.equal(reason, 'shutdown'),
    );
    const { status, counts } = await find(job);
    assert.deepEqual([status, counts], ['in_progress', { total: 60, completed: 29, failed: 0 }]);
    const again: string[] = [];
    await handlerOf(async (wish) => {
      again.push(promptOf(wish));
      return answer(wish);
    }).run(runOf(job));
    assert.deepEqual(again, names(60).slice(29));
    assert.deepEqual(await idsIn((await find(job)).outputFileId), names(60));
    assert.deepEqual(await handlerOf(() => assert.fail('it was asked again')).run(runOf(job)), { type: 'done' });
  });

  it('of one that nobody worked at until its window was over says of each line that it came too late', async () => {
    const job = await create(names(3));
    const stop = new AbortController();
    const stopped = handlerOf(async (wish) => {
      stop.abort('shutdown');
      throw wish.signal.reason;
    });
    await stopped.run(runOf(job, stop.signal)).catch(() => undefined);
    nowMs += DAY_MS;
    await handlerOf(() => assert.fail('it was asked')).run(runOf(job));
    const batch = await find(job);
    assert.deepEqual([batch.status, batch.counts], ['expired', { total: 3, completed: 0, failed: 3 }]);
    assert.deepEqual(await idsIn(batch.errorFileId), names(3));
  });

  it('ends one that was cancelled before it began, or while it ran', async () => {
    const unbegun = await create(names(3));
    const handler = handlerOf(async (wish) => answer(wish));
    await handler.cancel?.(unbegun);
    const batch = await find(unbegun);
    assert.deepEqual([batch.status, batch.outputFileId, batch.errorFileId], ['cancelled', undefined, undefined]);

    const begun = await create(names(40));
    const stop = new AbortController();
    let count = 0;
    const run = handlerOf(async (wish) => {
      count += 1;
      if (count < 10) return answer(wish);
      stop.abort('cancelled');
      throw wish.signal.reason;
    }).run(runOf(begun, stop.signal));
    await run.catch((reason: unknown) => assert.equal(reason, 'cancelled'));
    await handler.cancel?.(begun);
    await handler.cancel?.(begun);
    const { status, outputFileId, errorFileId } = await find(begun);
    assert.deepEqual([status, await idsIn(outputFileId), errorFileId], ['cancelled', names(9), undefined]);
  });

  it('that cannot go on is tried again, and when it is given up its owner is told', async () => {
    const job = await create(names(3));
    const failing = handlerOf(async (wish) => answer(wish), {
      addResults: async () => {
        throw new Error('disk');
      },
    });
    await assert.rejects(failing.run(runOf(job)), /disk/);
    assert.equal((await find(job)).status, 'in_progress');
    await failing.giveUp?.(job, new Error('disk'));
    const { status, errors, outputFileId } = await find(job);
    assert.deepEqual([status, errors?.[0]?.code, outputFileId], ['failed', 'internal_error', undefined]);
    assert.doesNotMatch(JSON.stringify(errors), /disk/);
  });

  it('leaves a batch alone that another process ends by now', async () => {
    const job = await create(names(3));
    const handler = handlerOf(async (wish) => {
      await work.beginFinalizing(job.subject, 'completed');
      return answer(wish);
    });
    await assert.rejects(handler.run(runOf(job)), { kind: 'conflict' });
    assert.equal((await find(job)).status, 'finalizing');
  });

  it('has nothing to do where the batch is gone', async () => {
    const job = { ...(await create(names(1))), subject: 'batch_gone' };
    assert.deepEqual(await handlerOf(() => assert.fail()).run(runOf(job)), { type: 'done' });
  });
});
