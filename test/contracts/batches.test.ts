import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';
import type { BatchStatus, BatchLineResult } from '../../src/core/batch.ts';
import { systemIdGenerator } from '../../src/core/id.ts';
import { BATCH_RESERVATION_CHECK_MS, FILE_CLEANUP_INTERVAL_MS } from '../../src/resources/limits.ts';
import type { Batches, BatchLifecycle } from '../../src/resources/batches/batch.ts';
import { createBatches } from '../../src/resources/batches/service.ts';
import { removeFinishedLines } from '../../src/resources/batches/line-cleanup.ts';
import { createBatchLifecycle } from '../../src/resources/batches/lifecycle.ts';
import type { FileLimits, Files } from '../../src/resources/files/file.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { removeExpiredReservations, removeOrphanedBlobs } from '../../src/resources/files/garbage-collection.ts';
import type { JobEvent } from '../../src/resources/jobs/job-notifier.ts';
import type { BatchRecord } from '../../src/store/batches.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

const START = 1_790_000_000_123;
const DAY_MS = 86_400_000;
const MIB = 1024 ** 2;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const LARGE_LIMITS: FileLimits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const CALLBACK = 'ds_batch_finish_callback';

type BatchOwner = ReturnType<typeof createOwner>;
const createOwner = (workspace: string) => ({ ...OWNER, workspace });

async function* createBytes(size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; left -= MIB) yield Buffer.alloc(Math.min(left, MIB), 7);
}

/** Creates the result of a line. Every tenth line fails. */
const createResult = (line: number, change: Partial<BatchLineResult> = {}): BatchLineResult => ({
  line,
  kind: line % 10 === 0 ? 'error' : 'output',
  json: `{"custom_id":"${line}"}`,
  ...change,
});
const createResults = (count: number) => Array.from({ length: count }, (_, at) => createResult(at + 1));

const getOutcome = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: Error & { kind?: string }) => error.kind ?? error.message,
  );

describeOnDialects('batches', ({ onOpen }) => {
  let store: Store;
  let blobs: BlobStore;
  let files: Files;
  let batches: Batches;
  let batchLifecycle: BatchLifecycle;
  let nowMs = START;
  let limits = LARGE_LIMITS;
  const clock = { now: () => nowMs, monotonic: () => nowMs - START };
  const warnings: string[] = [];
  const jobEvents: JobEvent[] = [];
  let idCount = 0;
  const ids = {
    ...systemIdGenerator,
    createSortableId: (prefix: string) => `${prefix}${(idCount += 1).toString(16).padStart(32, '0')}`,
  };

  onOpen(async (opened) => {
    ({ store } = opened);
    blobs = await openDiskBlobStore({ folder: join(opened.folder, 'blobs') });
    const log = { warn: (message: string) => void warnings.push(message) };
    const notifier = { notify: (event: JobEvent) => void jobEvents.push(event) };
    const deps = {
      store,
      blobs,
      clock,
      log,
      notifier,
      ids,
      getLimits: () => limits,
      startInterval: () => () => undefined,
    };
    files = createFiles({
      ...deps,
      reservationTimings: { pollMs: 5, retryMs: 10, newestTimeoutMs: 20_000, timeoutMs: 20_000 },
    });
    batches = createBatches(deps);
    batchLifecycle = createBatchLifecycle(deps);
  });
  after(async () => {
    await files.close();
    assert.deepEqual(warnings, []);
  });

  const upload = async (owner: BatchOwner, size = 5, purpose = 'batch') => {
    const received = await files.receive(owner, createBytes(size));
    const draft = { name: 'in.jsonl', description: '', purpose };
    const [committed] = await files.commit(owner, [{ received, draft }]);
    return committed ?? assert.fail();
  };
  const createBatch = (owner: BatchOwner, inputFileId: string, metadata: Readonly<Record<string, string>> = {}) =>
    batches.create(owner, {
      inputFileId,
      endpoint: '/v1/chat/completions',
      completionWindow: '24h',
      windowMs: DAY_MS,
      metadata: new Map(Object.entries(metadata)),
    });
  const uploadAndCreate = async (owner: BatchOwner, metadata?: Readonly<Record<string, string>>) =>
    await createBatch(owner, (await upload(owner)).id, metadata);
  /** Uploads an input, creates its batch and starts it with this many results. */
  const startBatch = async (owner: BatchOwner, lines: number, metadata?: Readonly<Record<string, string>>) => {
    const { id } = await uploadAndCreate(owner, metadata);
    await batchLifecycle.start(id, { model: 'svc-plus', total: lines });
    await batchLifecycle.addResults(id, createResults(lines));
    return id;
  };
  /** Writes the result files as the batch job does. */
  const writeFiles = async ({ id, outputBlob, errorBlob, counts }: BatchRecord) => {
    const put = async (kind: 'output' | 'error', blob: string) => {
      const lines = batchLifecycle.readResults(id, kind);
      async function* encoded() {
        for await (const line of lines) yield Buffer.from(`${line}\n`);
      }
      return { blob, ...(await blobs.put(blob, encoded())) };
    };
    return {
      ...(counts.completed > 0 ? { output: await put('output', outputBlob) } : {}),
      ...(counts.failed > 0 ? { error: await put('error', errorBlob) } : {}),
    };
  };
  const finalize = async (id: string, finalStatus: 'completed' | 'expired' | 'cancelled' = 'completed') => {
    const batch = (await batchLifecycle.startFinalizing(id, finalStatus)) ?? assert.fail();
    return (await batchLifecycle.finish(id, await writeFiles(batch))) ?? assert.fail();
  };
  const getUsage = ({ region, workspace }: BatchOwner) =>
    store.transaction(({ fileTotals }) => fileTotals.lockUsage({ region, workspace }));
  /** Counts the stored files and their bytes. No open batch may hold reservations in this scope. */
  const countActive = async (owner: BatchOwner) => {
    const listed = await files.list(owner, { limit: 10_000 });
    return { files: listed.length, bytes: listed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
  };
  const readText = async (owner: BatchOwner, id: string | undefined) => {
    const stream = await files.read(await files.find(owner, id ?? assert.fail('the batch has no such file')));
    return Buffer.concat(await stream.toArray()).toString();
  };
  const blobNames = async () => {
    const names = new Set<string>();
    for await (const { name: each } of blobs.list()) names.add(each);
    return names;
  };

  describe('creation', () => {
    it('stores the batch unchanged, inserts its job and reserves two files', async () => {
      const owner = createOwner('made');
      const input = await upload(owner, 3 * MIB);
      jobEvents.length = 0;
      const metadata = { ds_name: `O'Brien 密钥`, ['__proto__']: 'a\0' };
      const batch = await createBatch(owner, input.id, metadata);
      assert.deepEqual(await batches.find(owner, batch.id), batch);
      assert.deepEqual(await batchLifecycle.find(batch.id), batch);
      const { id, outputBlob, errorBlob, ...otherFields } = batch;
      assert.match(id, /^batch_[0-9a-f]{32}$/);
      assert.notEqual(outputBlob, errorBlob);
      assert.deepEqual(otherFields, {
        ...owner,
        endpoint: '/v1/chat/completions',
        inputFileId: input.id,
        inputBlob: input.blob,
        completionWindow: '24h',
        windowMs: DAY_MS,
        status: 'validating',
        endsAs: undefined,
        metadata: new Map(Object.entries(metadata)),
        model: undefined,
        errors: undefined,
        outputFileId: undefined,
        errorFileId: undefined,
        counts: { total: 0, completed: 0, failed: 0 },
        createdAt: START,
        inProgressAt: undefined,
        expiresAt: undefined,
        finalizingAt: undefined,
        cancellingAt: undefined,
        endedAt: undefined,
      });
      assert.deepEqual(await getUsage(owner), { files: 3, bytes: 9 * MIB });
      const job = await store.jobs.findBySubject('batch', id);
      assert.deepEqual([job?.state, job?.owner, job?.dueAt], ['waiting', owner, START]);
      assert.deepEqual(jobEvents, ['due']);
    });

    it('reserves at least 1 MiB for the results', async () => {
      const owner = createOwner('small');
      await uploadAndCreate(owner);
      assert.deepEqual(await getUsage(owner), { files: 3, bytes: 5 + MIB });
    });

    it('rejects an input that is missing, of another owner, of another purpose, or too large', async () => {
      const owner = createOwner('refused');
      const { id } = await upload(createOwner('refused-other'));
      for (const other of [id, 'file-batch-00', 'file-\0', '']) {
        await assert.rejects(createBatch(owner, other), { kind: 'invalid-request', param: 'input_file_id' });
      }
      const wrong = await upload(owner, 5, 'file-extract');
      await assert.rejects(createBatch(owner, wrong.id), { kind: 'invalid-request', message: /purpose 'batch'/ });
      const large = await upload(owner, MIB + 1);
      const testBatch = {
        inputFileId: large.id,
        endpoint: '/v1/chat/ds-test',
        completionWindow: '24h',
        windowMs: DAY_MS,
        metadata: new Map<string, string>(),
      };
      await assert.rejects(batches.create(owner, testBatch), { kind: 'invalid-request', message: /1048576 bytes/ });
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      assert.deepEqual(await batches.list(owner, { limit: 10 }), []);
      assert.equal(await store.jobs.findBySubject('batch', ''), undefined);
    });

    it('rejects a batch without quota for two files or their bytes, and leaves nothing behind', async () => {
      const owner = createOwner('full');
      const { id } = await upload(owner);
      limits = { ...LARGE_LIMITS, countMax: 2 };
      await assert.rejects(createBatch(owner, id), {
        kind: 'count-quota',
        message: 'Out of number, 1 of 2 files has been uploaded. Delete files to upload more.',
      });
      limits = { ...LARGE_LIMITS, totalBytesMax: MIB + 4 };
      await assert.rejects(createBatch(owner, id), {
        kind: 'storage-quota',
        message: `Out of space, 5 of ${MIB + 4} bytes has been used. Delete files to upload more.`,
      });
      assert.deepEqual(await getUsage(owner), { files: 1, bytes: 5 });
      limits = { ...LARGE_LIMITS, totalBytesMax: MIB + 5, countMax: 3 };
      await createBatch(owner, id);
      limits = LARGE_LIMITS;
    });

    it('never exceeds the quota with concurrent creations, and has exact totals when all batches are finished', async () => {
      const owner = createOwner('many');
      const { id } = await upload(owner);
      limits = { ...LARGE_LIMITS, countMax: 1 + 2 * 10 };
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => createBatch(owner, id).then(({ id: batch }) => batch, getErrorKind)),
      );
      const openIds = outcomes.filter((each) => each !== 'count-quota');
      assert.equal(openIds.length, 10);
      assert.deepEqual(await getUsage(owner), { files: 21, bytes: 5 + 10 * MIB });
      limits = LARGE_LIMITS;
      await Promise.all(
        openIds.map(async (batch, at) => {
          if (at === 9) return await batchLifecycle.fail(batch, [{ code: 'empty_file', message: 'Empty.' }]);
          if (at === 8) return await finalize(batch, 'cancelled');
          await batchLifecycle.start(batch, { model: 'svc-plus', total: at * 3 });
          await batchLifecycle.addResults(batch, createResults(at * 3));
          return await finalize(batch, at % 2 === 0 ? 'completed' : 'expired');
        }),
      );
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      // The batch with 0 lines has no file, those with 3, 6 and 9 lines have one, those with 12 to 21 lines have two.
      assert.equal(await files.count(owner, 'batch_output'), 3 + 4 * 2);
    });
  });

  describe('listing', () => {
    it('lists the newest first, page by page, for the owner only', async () => {
      const owner = createOwner('lists');
      const batchIds: string[] = [];
      const inputs: string[] = [];
      for (let at = 0; at < 6; at += 1) {
        nowMs = START + at * 1000;
        const input = await upload(owner);
        inputs.unshift(input.id);
        const named = { ds_name: ['Nightly 100%', 'nightly_Über', 'a\\b', 'x'][at] ?? '' };
        batchIds.unshift((await createBatch(owner, input.id, named)).id);
      }
      const listIndexes = async (query: object) =>
        (await batches.list(owner, { limit: 100, ...query })).map(({ id }) => batchIds.indexOf(id));
      assert.deepEqual(await listIndexes({}), [0, 1, 2, 3, 4, 5]);
      assert.deepEqual(await listIndexes({ limit: 2, after: batchIds[1] }), [2, 3]);
      assert.deepEqual(await listIndexes({ name: 'NIGHT' }), [4, 5]);
      assert.deepEqual(await listIndexes({ name: 'über' }), [4]);
      assert.deepEqual(await listIndexes({ name: '%' }), [5]);
      assert.deepEqual(await listIndexes({ name: '_' }), [4]);
      assert.deepEqual(await listIndexes({ name: '\\' }), [3]);
      assert.deepEqual(await listIndexes({ name: "'" }), []);
      assert.deepEqual(await listIndexes({ name: 'night\0' }), []);
      assert.deepEqual(await listIndexes({ inputFileIds: [inputs[1], inputs[4], 'file-\0'] }), [1, 4]);
      assert.deepEqual(await listIndexes({ createdFrom: START + 2000, createdTo: START + 4000 }), [1, 2, 3]);
      await batchLifecycle.start(batchIds[2] ?? '', { model: 'svc-plus', total: 1 });
      await batches.cancel(owner, batchIds[3] ?? '');
      assert.deepEqual(await listIndexes({ statuses: ['in_progress', 'cancelling'] }), [2, 3]);
      assert.deepEqual(await listIndexes({ statuses: ['completed'] }), []);
      nowMs = START + 30 * DAY_MS + 1500;
      assert.deepEqual(await listIndexes({}), [0, 1, 2, 3]);
      assert.deepEqual(await listIndexes({ createdFrom: START }), [0, 1, 2, 3]);
      nowMs = START;
      await assert.rejects(listIndexes({ after: 'nonsense' }), { kind: 'invalid-request', param: 'after' });
      for (const stranger of [createOwner('other'), { ...owner, region: 'ap-southeast-1' as const }]) {
        assert.deepEqual(await batches.list(stranger, { limit: 10 }), []);
        for (const each of [batches.find(stranger, batchIds[0] ?? ''), batches.cancel(stranger, batchIds[0] ?? '')]) {
          assert.equal(await getOutcome(each), 'not-found');
        }
      }
      assert.equal((await batches.find(owner, batchIds[0] ?? '')).status, 'validating');
    });

    it('finds no batch by an id with a NUL character, and does not fail', async () => {
      const owner = createOwner('nul');
      const { id } = await uploadAndCreate(owner);
      for (const other of [`${id}\0`, '\0', '', 'x'.repeat(10_000)]) {
        for (const each of [batches.find(owner, other), batches.cancel(owner, other)]) {
          assert.equal(await getOutcome(each), 'not-found');
        }
        assert.equal(await batchLifecycle.find(other), undefined);
      }
    });
  });

  describe('progress', () => {
    it('starts once, and expires one window after its creation', async () => {
      const { id } = await uploadAndCreate(createOwner('begins'));
      nowMs = START + 5000;
      const started = await batchLifecycle.start(id, { model: 'svc-plus', total: 3 });
      const { status, model, counts, inProgressAt, expiresAt } = started ?? assert.fail();
      assert.deepEqual(
        { status, model, counts, inProgressAt, expiresAt },
        {
          status: 'in_progress',
          model: 'svc-plus',
          counts: { total: 3, completed: 0, failed: 0 },
          inProgressAt: START + 5000,
          expiresAt: START + DAY_MS,
        },
      );
      nowMs = START + 9000;
      assert.deepEqual(await batchLifecycle.start(id, { model: 'other', total: 9 }), started);
      nowMs = START;
      assert.equal(await batchLifecycle.start('batch_none', { model: 'm', total: 1 }), undefined);
    });

    it('stores the first result of each line, also with concurrent writers, and counts the stored results', async () => {
      const owner = createOwner('once');
      const { id } = await uploadAndCreate(owner);
      await batchLifecycle.addResults(id, [createResult(10)]);
      await batchLifecycle.start(id, { model: 'svc-plus', total: 60 });
      const all = createResults(60);
      await Promise.all([
        ...Array.from({ length: 6 }, (_, part) => batchLifecycle.addResults(id, all.slice(part * 10, part * 10 + 10))),
        ...Array.from({ length: 6 }, (_, part) =>
          batchLifecycle.addResults(
            id,
            all
              .slice(part * 10, part * 10 + 10)
              .toReversed()
              .map((each) => ({ ...each })),
          ),
        ),
      ]);
      const counts = { total: 60, completed: 54, failed: 6 };
      const again = [createResult(1, { kind: 'error', json: 'other' })];
      assert.deepEqual(await batchLifecycle.addResults(id, again), counts);
      assert.deepEqual(await batchLifecycle.addResults(id, []), counts);
      assert.deepEqual((await batchLifecycle.find(id))?.counts, counts);
      assert.deepEqual(await batchLifecycle.findCompletedLines(id, { first: 58, last: 70 }), new Set([58, 59, 60]));
      const read = await Array.fromAsync(batchLifecycle.readResults(id, 'output'));
      assert.deepEqual(
        read,
        all.filter(({ kind }) => kind === 'output').map(({ json }) => json),
      );
    });
  });

  describe('completion', () => {
    it('creates result files that can be listed and read, and releases the unused reservation', async () => {
      const owner = createOwner('ends');
      const id = await startBatch(owner, 100);
      nowMs = START + 7000;
      const finalizing = await batchLifecycle.startFinalizing(id, 'completed');
      assert.deepEqual([finalizing?.status, finalizing?.finalizingAt], ['finalizing', nowMs]);
      const ended = (await batchLifecycle.finish(id, await writeFiles(finalizing ?? assert.fail()))) ?? assert.fail();
      assert.deepEqual(
        [ended.status, ended.endedAt, ended.counts],
        ['completed', nowMs, { total: 100, completed: 90, failed: 10 }],
      );
      assert.match(ended.outputFileId ?? '', /^file-batch_output-[0-9a-f]{32}$/);
      assert.match(ended.errorFileId ?? '', /^file-batch_error-[0-9a-f]{32}$/);
      const text = await readText(owner, ended.outputFileId);
      assert.deepEqual(
        text.split('\n').slice(0, -1),
        createResults(100).flatMap(({ line, json }) => (line % 10 === 0 ? [] : json)),
      );
      const { name: called, purpose, sizeBytes, keyId } = await files.find(owner, ended.errorFileId ?? '');
      assert.deepEqual(
        { called, purpose, keyId },
        { called: `${id}_error.jsonl`, purpose: 'batch_output', keyId: 'key_1' },
      );
      assert.equal(sizeBytes, Buffer.byteLength(await readText(owner, ended.errorFileId)));
      assert.deepEqual((await files.list(owner, { limit: 9, purpose: 'batch_output' })).length, 2);
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      assert.deepEqual(await Array.fromAsync(batchLifecycle.readResults(id, 'output')), []);
      for (const file of [ended.outputFileId, ended.errorFileId]) await files.delete(owner, file ?? '');
      assert.deepEqual(await getUsage(owner), { files: 1, bytes: 5 });
      nowMs = START;
    });

    it('accepts no results once its files are being written, so that repeated reads are equal', async () => {
      const owner = createOwner('frozen');
      const { id } = await uploadAndCreate(owner);
      await batchLifecycle.start(id, { model: 'svc-plus', total: 3 });
      await batchLifecycle.addResults(id, [createResult(1)]);
      await batchLifecycle.startFinalizing(id, 'cancelled');
      assert.equal(await batchLifecycle.addResults(id, [createResult(2)]), undefined);
      assert.deepEqual(await Array.fromAsync(batchLifecycle.readResults(id, 'output')), [createResult(1).json]);
      const ended = await finalize(id, 'cancelled');
      assert.deepEqual([ended.status, ended.counts.completed], ['cancelled', 1]);
      assert.equal(await batchLifecycle.addResults(id, [createResult(3)]), undefined);
      assert.equal(await batchLifecycle.addResults('batch_none', [createResult(3)]), undefined);
    });

    it('can be finalized again after an interruption, with new blob names; the earlier attempt stores nothing', async () => {
      const owner = createOwner('again');
      const id = await startBatch(owner, 20);
      const firstAttempt = (await batchLifecycle.startFinalizing(id, 'expired')) ?? assert.fail();
      const written = await writeFiles(firstAttempt);
      const secondAttempt = (await batchLifecycle.startFinalizing(id, 'completed')) ?? assert.fail();
      assert.deepEqual([secondAttempt.endsAs, secondAttempt.finalizingAt], ['expired', firstAttempt.finalizingAt]);
      assert.equal((await blobNames()).has(firstAttempt.outputBlob), false);
      assert.equal(await getOutcome(batchLifecycle.finish(id, written)), 'conflict');
      assert.equal((await batchLifecycle.find(id))?.status, 'finalizing');
      const ended = await batchLifecycle.finish(id, await writeFiles(secondAttempt));
      assert.equal(ended?.status, 'expired');
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      for (const lateResult of [
        await batchLifecycle.finish(id, written),
        await batchLifecycle.startFinalizing(id, 'cancelled'),
        await batchLifecycle.fail(id, []),
        await batchLifecycle.start(id, { model: 'm', total: 1 }),
      ]) {
        assert.deepEqual(lateResult, ended);
      }
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      assert.match(await readText(owner, ended?.outputFileId), /"custom_id":"19"/);
    });

    it('accepts results larger than their reservation, and counts them', async () => {
      const owner = createOwner('larger');
      const { id } = await uploadAndCreate(owner);
      await batchLifecycle.start(id, { model: 'svc-plus', total: 3 });
      const long = JSON.stringify({ text: 'x'.repeat(MIB) });
      await batchLifecycle.addResults(id, [createResult(1, { json: long }), createResult(2, { json: long })]);
      limits = { ...LARGE_LIMITS, totalBytesMax: 5 + MIB };
      const ended = await finalize(id);
      assert.equal((await files.find(owner, ended.outputFileId ?? '')).sizeBytes, 2 * (long.length + 1));
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      assert.equal(await getOutcome(upload(owner)), 'storage-quota');
      limits = LARGE_LIMITS;
    });

    it('stores at most 100 errors of a failed batch, no files and no counts', async () => {
      const owner = createOwner('fails');
      const { id } = await uploadAndCreate(owner);
      await batchLifecycle.addResults(id, createResults(30));
      const problems = Array.from({ length: 150 }, (_, at) => ({ code: 'x', message: 'y', param: 'url', line: at }));
      const ended = await batchLifecycle.fail(id, problems);
      assert.deepEqual(
        [ended?.status, ended?.errors, ended?.counts, ended?.outputFileId, ended?.errorFileId],
        ['failed', problems.slice(0, 100), { total: 0, completed: 0, failed: 0 }, undefined, undefined],
      );
      assert.deepEqual(await getUsage(owner), { files: 1, bytes: 5 });
      assert.deepEqual(await batchLifecycle.findCompletedLines(id, { first: 1, last: 30 }), new Set());
    });

    it('inserts one callback job for a batch with a callback URL', async () => {
      const owner = createOwner('callback');
      const callbackMetadata = { [CALLBACK]: 'https://example.com/done' };
      const id = await startBatch(owner, 3, callbackMetadata);
      assert.equal(await store.jobs.findBySubject('batch-callback', id), undefined);
      jobEvents.length = 0;
      const batch = (await batchLifecycle.startFinalizing(id, 'completed')) ?? assert.fail();
      const written = await writeFiles(batch);
      const [one, other] = await Promise.all([batchLifecycle.finish(id, written), batchLifecycle.finish(id, written)]);
      assert.deepEqual(one, other);
      const job = await store.jobs.findBySubject('batch-callback', id);
      assert.deepEqual([job?.state, job?.owner, jobEvents], ['waiting', owner, ['due']]);
      const failed = await uploadAndCreate(owner, callbackMetadata);
      await batchLifecycle.fail(failed.id, []);
      assert.ok(await store.jobs.findBySubject('batch-callback', failed.id));
      const idWithoutCallback = await startBatch(owner, 3);
      await finalize(idWithoutCallback);
      assert.equal(await store.jobs.findBySubject('batch-callback', idWithoutCallback), undefined);
    });

    it('removes the lines of a process that was killed before it removed them', async () => {
      const owner = createOwner('lines');
      const id = await startBatch(owner, 600);
      const batch = (await batchLifecycle.startFinalizing(id, 'completed')) ?? assert.fail();
      await batchLifecycle.finish(id, await writeFiles(batch));
      // Restores the state of a process that was killed in between.
      await store.batchLines.insert(id, createResults(600));
      await store.transaction(({ batches: table }) => table.update(id, { linesUntil: nowMs }));
      assert.equal(await removeFinishedLines({ store, clock }), 0);
      nowMs += FILE_CLEANUP_INTERVAL_MS + 1;
      assert.equal(await removeFinishedLines({ store, clock }), 1);
      assert.deepEqual(await batchLifecycle.findCompletedLines(id, { first: 1, last: 600 }), new Set());
      assert.equal(await removeFinishedLines({ store, clock }), 0);
      nowMs = START;
    });
  });

  describe('cancellation', () => {
    for (const [phaseText, initialStatus] of [
      ['during validation', 'validating'],
      ['during progress', 'in_progress'],
      ['during finalization', 'finalizing'],
    ] as const) {
      it(`changes the status at once ${phaseText}, cancels the job, and determines the final status`, async () => {
        const owner = createOwner(`cancel-${initialStatus}`);
        const id = initialStatus === 'validating' ? (await uploadAndCreate(owner)).id : await startBatch(owner, 20);
        const before =
          initialStatus === 'finalizing'
            ? await batchLifecycle.startFinalizing(id, 'completed')
            : await batchLifecycle.find(id);
        assert.equal(before?.status, initialStatus satisfies BatchStatus);
        const written = initialStatus === 'finalizing' ? await writeFiles(before) : {};
        jobEvents.length = 0;
        nowMs = START + 3000;
        const cancelling = await batches.cancel(owner, id);
        assert.deepEqual([cancelling.status, cancelling.cancellingAt, jobEvents], ['cancelling', nowMs, ['cancelled']]);
        assert.equal((await store.jobs.findBySubject('batch', id))?.isCancelled, true);
        nowMs = START + 4000;
        assert.deepEqual(await batches.cancel(owner, id), cancelling);
        const ended =
          initialStatus === 'finalizing' ? await batchLifecycle.finish(id, written) : await finalize(id, 'cancelled');
        assert.deepEqual([ended?.status, ended?.cancellingAt], ['cancelled', START + 3000]);
        assert.equal(ended?.outputFileId === undefined, initialStatus === 'validating');
        assert.deepEqual(await getUsage(owner), await countActive(owner));
        nowMs = START;
      });
    }

    it('rejects the cancellation of a finished batch with a conflict', async () => {
      const owner = createOwner('cancel-ended');
      const id = await startBatch(owner, 2);
      await finalize(id);
      await assert.rejects(batches.cancel(owner, id), {
        kind: 'conflict',
        message: "Cannot cancel a batch with status 'completed'.",
      });
    });
  });

  describe('files', () => {
    it('protects the input from deletion while a batch of the same workspace reads it', async () => {
      const owner = createOwner('in-use');
      const input = await upload(owner);
      const [first, second] = [await createBatch(owner, input.id), await createBatch(owner, input.id)];
      assert.equal(await getOutcome(files.delete(createOwner('elsewhere'), input.id)), 'file-not-found');
      for (const { id } of [first, second]) {
        await assert.rejects(files.delete(owner, input.id), { kind: 'conflict' });
        assert.equal((await files.find(owner, input.id)).id, input.id);
        await batchLifecycle.fail(id, []);
      }
      const before = await getUsage(owner);
      await files.delete(owner, input.id);
      assert.deepEqual(
        [before, await getUsage(owner)],
        [
          { files: 1, bytes: 5 },
          { files: 0, bytes: 0 },
        ],
      );
      assert.deepEqual(await files.count(owner, 'batch'), 0);
    });

    it('allows either the deletion of an input or the creation of its batch, never both', async () => {
      const owner = createOwner('race');
      for (let round = 0; round < 10; round += 1) {
        const input = await upload(owner);
        const [deleted, created] = await Promise.all([
          getOutcome(files.delete(owner, input.id)),
          getOutcome(createBatch(owner, input.id)),
        ]);
        assert.ok(
          (deleted === 'done' && created === 'invalid-request') || (deleted === 'conflict' && created === 'done'),
          `${deleted} and ${created}`,
        );
      }
    });

    it('keeps the reservation while the batch is open, also when no process ran for days', async () => {
      const owner = createOwner('expired');
      const id = await startBatch(owner, 10);
      const batch = (await batchLifecycle.startFinalizing(id, 'completed')) ?? assert.fail();
      const written = await writeFiles(batch);
      nowMs = START + 40 * DAY_MS;
      await removeExpiredReservations({ store, blobs, clock });
      await removeOrphanedBlobs({ store, blobs }, Number.MAX_SAFE_INTEGER);
      assert.deepEqual((await getUsage(owner)).files, 3);
      // The reservation is checked again only after this interval.
      nowMs += BATCH_RESERVATION_CHECK_MS - 1;
      assert.equal(await removeExpiredReservations({ store, blobs, clock }), 0);
      const ended = await batchLifecycle.finish(id, written);
      assert.equal(ended?.status, 'completed');
      assert.deepEqual(await getUsage(owner), await countActive(owner));
      await readText(owner, ended?.outputFileId);
      nowMs = START;
    });

    it('releases the reservation and the blob of a batch that is gone', async () => {
      const owner = createOwner('removed');
      const { workspace, region } = owner;
      const at = clock.now();
      await store.transaction(async ({ files: table, fileTotals }) => {
        await fileTotals.lockUsage(owner);
        const reservation = {
          region,
          workspace,
          keyId: 'key_1',
          bytes: MIB,
          leaseUntil: at + BATCH_RESERVATION_CHECK_MS,
          at,
        };
        await table.reserve({ ...reservation, blob: 'results_gone', batchId: 'batch_gone' });
        await fileTotals.addUsage(owner, { files: 1, bytes: MIB });
      });
      await blobs.put('results_gone', createBytes(7));
      nowMs = START + BATCH_RESERVATION_CHECK_MS + 1;
      await removeExpiredReservations({ store, blobs, clock });
      assert.deepEqual(await getUsage(owner), { files: 0, bytes: 0 });
      assert.equal((await blobNames()).has('results_gone'), false);
      nowMs = START;
    });

    it('removes result blobs without a record', async () => {
      await blobs.put('results_orphan', createBytes(7));
      await removeOrphanedBlobs({ store, blobs }, Number.MAX_SAFE_INTEGER);
      assert.equal((await blobNames()).has('results_orphan'), false);
    });

    it('lets no upload wait for a reservation of a batch', async () => {
      const owner = createOwner('waiting');
      const { id } = await upload(owner);
      await createBatch(owner, id);
      limits = { ...LARGE_LIMITS, totalBytesMax: MIB + 10 };
      const startedAt = performance.now();
      assert.equal(await getOutcome(upload(owner, 100)), 'storage-quota');
      assert.ok(performance.now() - startedAt < 10_000, 'the upload was rejected before its timeout');
      limits = LARGE_LIMITS;
    });
  });
});

const getErrorKind = (error: Error & { kind?: string }) => error.kind ?? error.message;
