import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { openDiskBlobStore } from '../../blobs/disk-blob-store.ts';
import type { BatchLineResult } from '../../core/batch.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import { createFiles } from '../files/service.ts';
import { removeExpiredReservations, removeOrphanedBlobs } from '../files/garbage-collection.ts';
import type { BatchLifecycle } from './batch.ts';
import { createBatches } from './service.ts';
import { removeFinishedLines } from './line-cleanup.ts';
import { createBatchLifecycle } from './lifecycle.ts';

const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const LINES = 40;
const HOUR_MS = 3_600_000;

const results: readonly BatchLineResult[] = Array.from({ length: LINES }, (_, at) => ({
  line: at + 1,
  kind: at % 10 === 0 ? 'error' : 'output',
  json: `{"custom_id":"${at + 1}"}`,
}));

/** Simulates the end of the process. */
class Killed extends Error {}

/** Simulates a crash before or after the given step; every change of the store or the blobs is a step. */
function createCrashPoint(crashStep: number, { isAfterStep }: { readonly isAfterStep: boolean }) {
  let steps = 0;
  const step = async <T>(act: () => Promise<T>): Promise<T> => {
    steps += 1;
    if (steps > crashStep || (steps === crashStep && !isAfterStep)) throw new Killed();
    const value = await act();
    if (steps >= crashStep) throw new Killed();
    return value;
  };
  return {
    isAlive: () => steps < crashStep,
    wrapStore: (store: Store): Store => ({
      ...store,
      transaction: (work) => step(() => store.transaction(work)),
      batches: { ...store.batches, markLinesRemoved: (id) => step(() => store.batches.markLinesRemoved(id)) },
      batchLines: {
        ...store.batchLines,
        list: (id, query) => step(() => store.batchLines.list(id, query)),
        remove: (id, limit) => step(() => store.batchLines.remove(id, limit)),
      },
      files: { ...store.files, remove: (blob) => step(() => store.files.remove(blob)) },
    }),
    wrapBlobs: (blobs: BlobStore): BlobStore => ({
      ...blobs,
      put: (name, source) => step(() => blobs.put(name, source)),
      delete: (name) => step(() => blobs.delete(name)),
      abortUpload: (name) => step(() => blobs.abortUpload(name)),
    }),
  };
}

describe('batch lifecycle', () => {
  let folder = '';
  let store: Store;
  let blobs: BlobStore;
  let nowMs = 1_790_000_000_000;
  const clock = { now: () => nowMs, monotonic: () => 0 };
  const log = { warn: () => undefined };
  const notifier = { notify: () => undefined };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-batch-work-'));
    store = await openTestStore();
    blobs = await openDiskBlobStore({ folder });
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** Runs a batch to its end like its job, and skips lines that have results. */
  const runBatch = async (
    id: string,
    lifecycle: BatchLifecycle,
    writer: BlobStore,
    endsAs: 'completed' | 'cancelled',
  ) => {
    await lifecycle.start(id, { model: 'svc-plus', total: LINES });
    const done = await lifecycle.findCompletedLines(id, { first: 1, last: LINES });
    const left = results.filter(({ line }) => !done.has(line));
    for (let at = 0; at < left.length; at += 16) await lifecycle.addResults(id, left.slice(at, at + 16));
    const batch = (await lifecycle.startFinalizing(id, endsAs)) ?? assert.fail();
    if (batch.endedAt !== undefined) return;
    const write = async (kind: 'output' | 'error', blob: string) => {
      const lines = lifecycle.readResults(id, kind);
      const source = (async function* () {
        for await (const line of lines) yield Buffer.from(`${line}\n`);
      })();
      return { blob, ...(await writer.put(blob, source)) };
    };
    await lifecycle.finish(id, {
      output: await write('output', batch.outputBlob),
      error: await write('error', batch.errorBlob),
    });
  };

  const readLines = async (blob: string): Promise<readonly string[]> => {
    const stream = await blobs.read(blob);
    return Buffer.concat(await stream.toArray())
      .toString()
      .split('\n')
      .slice(0, -1);
  };

  for (const isAfterStep of [false, true]) {
    it(`stores each result once and leaves only its files when killed ${isAfterStep ? 'after' : 'before'} any step`, async () => {
      const files = createFiles({
        store,
        blobs,
        clock,
        log,
        getLimits: () => LIMITS,
        startInterval: () => () => undefined,
      });
      const batches = createBatches({ store, clock, notifier, getLimits: () => LIMITS });
      let steps = 0;
      for (let crashStep = 1, isCompleted = false; !isCompleted; crashStep += 1) {
        const owner = { region: 'cn-beijing', workspace: `${isAfterStep} ${crashStep}`, keyId: 'key_1' } as const;
        const source = (async function* () {
          yield Buffer.from('{}\n');
        })();
        const received = await files.receive(owner, source);
        const draft = { name: 'in.jsonl', description: '', purpose: 'batch' };
        const [input] = await files.commit(owner, [{ received, draft }]);
        const { id } = await batches.create(owner, {
          inputFileId: input?.id ?? assert.fail(),
          endpoint: '/v1/chat/completions',
          completionWindow: '24h',
          windowMs: 24 * HOUR_MS,
          metadata: new Map(),
        });

        const crashPoint = createCrashPoint(crashStep, { isAfterStep });
        const crashingDeps = {
          store: crashPoint.wrapStore(store),
          blobs: crashPoint.wrapBlobs(blobs),
          clock,
          log,
          notifier,
        };
        try {
          await runBatch(id, createBatchLifecycle(crashingDeps), crashingDeps.blobs, 'completed');
        } catch (thrown) {
          if (!(thrown instanceof Killed)) throw thrown;
        }
        // Without a crash, the batch has fewer steps than `crashStep`, so that all steps are covered.
        isCompleted = crashPoint.isAlive();
        await runBatch(id, createBatchLifecycle({ store, blobs, clock, log, notifier }), blobs, 'completed');
        nowMs += HOUR_MS;
        await removeExpiredReservations({ store, blobs, clock });
        await removeOrphanedBlobs({ store, blobs }, Number.MAX_SAFE_INTEGER);
        await removeFinishedLines({ store, clock });
        steps = crashStep;

        const batch = await batches.find(owner, id);
        const at = `killed at step ${crashStep}`;
        assert.deepEqual([batch.status, batch.counts], ['completed', { total: 40, completed: 36, failed: 4 }], at);
        const remainingFiles = await files.list(owner, { limit: 10 });
        const findBlob = (file: string | undefined) =>
          remainingFiles.find((each) => each.id === file)?.blob ?? assert.fail(at);
        for (const [kind, file] of [
          ['output', batch.outputFileId],
          ['error', batch.errorFileId],
        ] as const) {
          const expected = results.filter((each) => each.kind === kind).map(({ json }) => json);
          assert.deepEqual(await readLines(findBlob(file)), expected, at);
        }
        assert.deepEqual(
          await store.fileTotals.getUsage(owner),
          { files: 3, bytes: remainingFiles.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) },
          at,
        );
        assert.equal(remainingFiles.length, 3, at);
        assert.deepEqual(await store.batchLines.listDone(id, { first: 1, last: LINES }), [], at);
        const names = (await Array.fromAsync(blobs.list())).map(({ name }) => name);
        assert.deepEqual(new Set(names), await store.files.filterReferenced(names), at);
        assert.deepEqual(await store.files.listExpired({ before: Number.MAX_SAFE_INTEGER, limit: 10 }), [], at);
      }
      await files.close();
      assert.ok(steps > 15, `there were ${steps} steps`);
    });
  }
});
