import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDiskBlobStore } from '../../../blobs/disk-blob-store.ts';
import { changeDiskBlob, flipBitAt } from '../../../blobs/__fixtures__/change-disk-blob.ts';
import { createVerifiedBlobStore } from '../../../blobs/verified-blob-store.ts';
import type { JobProgress, JobRecord } from '../../../core/job.ts';
import type { Batches, BatchLifecycle } from '../../../resources/batches/batch.ts';
import { createBatches } from '../../../resources/batches/service.ts';
import { createBatchLifecycle } from '../../../resources/batches/lifecycle.ts';
import { createFiles } from '../../../resources/files/service.ts';
import { createSqliteDialect } from '../../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { createBatchHandler } from './batch-handler.ts';
import type { ExecuteLine, LineRequest } from './execute-line.ts';

const OWNER = { region: 'cn-beijing', workspace: 'w', keyId: 'key_1' } as const;
const DAY_MS = 86_400_000;
const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const quiet = () => undefined;

const getPrompt = ({ body }: LineRequest): string => String(body['prompt']);
const createResponse = (request: LineRequest) => ({
  status: 200,
  requestId: 'RID',
  body: { text: getPrompt(request) },
  headers: undefined,
  error: undefined,
  retryAfterSeconds: undefined,
});

describe('createBatchHandler', () => {
  let folder = '';
  let store: Store;
  let blobs: BlobStore;
  let files: ReturnType<typeof createFiles>;
  let batches: Batches;
  let lifecycle: BatchLifecycle;
  let nowMs = Date.parse('2026-07-01T12:00:00Z');
  const clock = { now: () => nowMs, monotonic: () => performance.now() };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-batch-handler-'));
    store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
    blobs = createVerifiedBlobStore(await openDiskBlobStore({ folder: join(folder, 'blobs') }), {
      hashes: store.blobHashes,
      onDamage: quiet,
    });
    const deps = { store, blobs, clock, log: { warn: quiet }, notifier: { notify: quiet }, getLimits: () => LIMITS };
    files = createFiles(deps);
    batches = createBatches(deps);
    lifecycle = createBatchLifecycle(deps);
  });
  after(async () => {
    await files.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  const createHandler = (executeLine: ExecuteLine, change: Partial<BatchLifecycle> = {}) =>
    createBatchHandler({
      lifecycle: { ...lifecycle, ...change },
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
    const [file] = await files.commit(OWNER, [{ received, draft }]);
    const { id } = await batches.create(OWNER, {
      inputFileId: file?.id ?? '',
      endpoint: '/v1/completions',
      completionWindow: '24h',
      windowMs: DAY_MS,
      metadata: new Map(),
    });
    return (await store.jobs.findBySubject('batch', id)) ?? assert.fail();
  }
  const createContext = (
    job: JobRecord,
    signal = new AbortController().signal,
    report: (_: JobProgress) => void = quiet,
  ) => ({
    job,
    signal,
    report,
  });
  const find = async ({ subject }: JobRecord) => (await lifecycle.find(subject)) ?? assert.fail();
  const readCustomIds = async (fileId: string | undefined): Promise<readonly string[]> => {
    if (fileId === undefined) return [];
    const text = await textOf(await files.read(await files.find(OWNER, fileId)));
    const lines = text.trimEnd().split('\n');
    return lines.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
  };
  const createPrompts = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `n${at}`);

  it('reports progress per step', async () => {
    const job = await create(createPrompts(100));
    const reports: JobProgress[] = [];
    const run = createContext(job, undefined, (progress) => reports.push(progress));
    assert.deepEqual(await createHandler(async (request) => createResponse(request)).run(run), { type: 'done' });
    const last = reports.filter(({ step }) => step === 'in_progress').at(-1);
    assert.deepEqual(last, { done: 100, total: 100, step: 'in_progress' });
    assert.ok(reports.every(({ done }, at) => done >= (reports[at - 1]?.done ?? 0)));
    assert.deepEqual(reports.at(-1), { done: 100, total: 100, step: 'finalizing' });
    assert.deepEqual(await readCustomIds((await find(job)).outputFileId), createPrompts(100));
  });

  for (const [name, change] of [
    ['with a flipped bit', flipBitAt(3)],
    ['without its end', (bytes: Buffer) => bytes.subarray(0, -40)],
    ['that is lost', () => undefined],
  ] as const) {
    it(`fails at the first attempt with the name of an input file ${name}`, async () => {
      const job = await create(createPrompts(3));
      const { inputBlob, inputFileId } = await find(job);
      await changeDiskBlob(join(folder, 'blobs'), inputBlob, change);
      const handler = createHandler(() => assert.fail('a line ran'));
      assert.deepEqual(await handler.run(createContext(job)), { type: 'done' });
      const { status, errors } = await find(job);
      assert.equal(status, 'failed');
      assert.equal(errors?.[0]?.code, 'file_damaged');
      assert.match(errors?.[0]?.message ?? '', new RegExp(`input file ${inputFileId} are damaged or lost`));
    });
  }

  it('resumes after a stop without running answered lines again', async () => {
    const job = await create(createPrompts(60));
    const prompts: string[] = [];
    const stop = new AbortController();
    const first = createHandler(async (request) => {
      prompts.push(getPrompt(request));
      if (prompts.length < 30) return createResponse(request);
      stop.abort('shutdown');
      throw request.signal.reason;
    });
    await first.run(createContext(job, stop.signal)).then(
      () => assert.fail('the run did not stop'),
      (reason: unknown) => assert.equal(reason, 'shutdown'),
    );
    const { status, counts } = await find(job);
    assert.deepEqual([status, counts], ['in_progress', { total: 60, completed: 29, failed: 0 }]);
    const again: string[] = [];
    await createHandler(async (request) => {
      again.push(getPrompt(request));
      return createResponse(request);
    }).run(createContext(job));
    assert.deepEqual(again, createPrompts(60).slice(29));
    assert.deepEqual(await readCustomIds((await find(job)).outputFileId), createPrompts(60));
    assert.deepEqual(await createHandler(() => assert.fail('a line was run again')).run(createContext(job)), {
      type: 'done',
    });
  });

  it('expires every line if the window ends before it ran', async () => {
    const job = await create(createPrompts(3));
    const stop = new AbortController();
    const stopped = createHandler(async (request) => {
      stop.abort('shutdown');
      throw request.signal.reason;
    });
    await stopped.run(createContext(job, stop.signal)).catch(() => undefined);
    nowMs += DAY_MS;
    await createHandler(() => assert.fail('a line was run')).run(createContext(job));
    const batch = await find(job);
    assert.deepEqual([batch.status, batch.counts], ['expired', { total: 3, completed: 0, failed: 3 }]);
    assert.deepEqual(await readCustomIds(batch.errorFileId), createPrompts(3));
  });

  it('ends a batch cancelled before or during its run', async () => {
    const waitingJob = await create(createPrompts(3));
    const handler = createHandler(async (request) => createResponse(request));
    await handler.cancel?.(waitingJob);
    const batch = await find(waitingJob);
    assert.deepEqual([batch.status, batch.outputFileId, batch.errorFileId], ['cancelled', undefined, undefined]);

    const runningJob = await create(createPrompts(40));
    const stop = new AbortController();
    let count = 0;
    const run = createHandler(async (request) => {
      count += 1;
      if (count < 10) return createResponse(request);
      stop.abort('cancelled');
      throw request.signal.reason;
    }).run(createContext(runningJob, stop.signal));
    await run.catch((reason: unknown) => assert.equal(reason, 'cancelled'));
    await handler.cancel?.(runningJob);
    await handler.cancel?.(runningJob);
    const { status, outputFileId, errorFileId } = await find(runningJob);
    assert.deepEqual(
      [status, await readCustomIds(outputFileId), errorFileId],
      ['cancelled', createPrompts(9), undefined],
    );
  });

  it('fails the batch with a generic error when it is given up', async () => {
    const job = await create(createPrompts(3));
    const failing = createHandler(async (request) => createResponse(request), {
      addResults: async () => {
        throw new Error('disk');
      },
    });
    await assert.rejects(failing.run(createContext(job)), /disk/);
    assert.equal((await find(job)).status, 'in_progress');
    await failing.giveUp?.(job, new Error('disk'));
    const { status, errors, outputFileId } = await find(job);
    assert.deepEqual([status, errors?.[0]?.code, outputFileId], ['failed', 'internal_error', undefined]);
    assert.doesNotMatch(JSON.stringify(errors), /disk/);
  });

  it('rejects if another process finalizes the batch', async () => {
    const job = await create(createPrompts(3));
    const handler = createHandler(async (request) => {
      await lifecycle.startFinalizing(job.subject, 'completed');
      return createResponse(request);
    });
    await assert.rejects(handler.run(createContext(job)), { kind: 'conflict' });
    assert.equal((await find(job)).status, 'finalizing');
  });

  it('does nothing if the batch is gone', async () => {
    const job = { ...(await create(createPrompts(1))), subject: 'batch_gone' };
    assert.deepEqual(await createHandler(() => assert.fail()).run(createContext(job)), { type: 'done' });
  });
});
