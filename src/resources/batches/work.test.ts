import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { openDisk } from '../../blobs/disk.ts';
import type { LineResult } from '../../core/batch.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { createFiles } from '../files/service.ts';
import { sweepExpired, sweepOrphans } from '../files/sweep.ts';
import type { BatchWork } from './batch.ts';
import { createBatches } from './service.ts';
import { sweepLines } from './sweep.ts';
import { createBatchWork } from './work.ts';

const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const LINES = 40;
const HOUR_MS = 3_600_000;

const results: readonly LineResult[] = Array.from({ length: LINES }, (_, at) => ({
  line: at + 1,
  kind: at % 10 === 0 ? 'error' : 'output',
  json: `{"custom_id":"${at + 1}"}`,
}));

/** The process ends here: nothing that it would do is done any more. */
class Killed extends Error {}

/** Ends the process before its `dies`-th step, or right after it: what has an effect outside is one. */
function mortal(dies: number, { isDone }: { readonly isDone: boolean }) {
  let steps = 0;
  const step = async <T>(act: () => Promise<T>): Promise<T> => {
    steps += 1;
    if (steps > dies || (steps === dies && !isDone)) throw new Killed();
    const value = await act();
    if (steps >= dies) throw new Killed();
    return value;
  };
  return {
    isAlive: () => steps < dies,
    storeOf: (store: Store): Store => ({
      ...store,
      transaction: (work) => step(() => store.transaction(work)),
      batches: { ...store.batches, forgetLines: (id) => step(() => store.batches.forgetLines(id)) },
      batchLines: {
        ...store.batchLines,
        read: (id, wish) => step(() => store.batchLines.read(id, wish)),
        remove: (id, limit) => step(() => store.batchLines.remove(id, limit)),
      },
      files: { ...store.files, remove: (blob) => step(() => store.files.remove(blob)) },
    }),
    blobsOf: (blobs: BlobStore): BlobStore => ({
      ...blobs,
      put: (name, source) => step(() => blobs.put(name, source)),
      delete: (name) => step(() => blobs.delete(name)),
      abandon: (name) => step(() => blobs.abandon(name)),
    }),
  };
}

describe('the work of a batch', () => {
  let folder = '';
  let store: Store;
  let blobs: BlobStore;
  let nowMs = 1_790_000_000_000;
  const clock = { now: () => nowMs, monotonic: () => 0 };
  const log = { warn: () => undefined };
  const bell = { ring: () => undefined };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-batch-work-'));
    store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
    blobs = await openDisk({ folder });
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** All of it, as whoever does it: what is done already is passed over. */
  const run = async (id: string, work: BatchWork, writer: BlobStore, endsAs: 'completed' | 'cancelled') => {
    await work.start(id, { model: 'svc-plus', total: LINES });
    const done = await work.doneLines(id, { first: 1, last: LINES });
    const left = results.filter(({ line }) => !done.has(line));
    for (let at = 0; at < left.length; at += 16) await work.addResults(id, left.slice(at, at + 16));
    const batch = (await work.beginFinalizing(id, endsAs)) ?? assert.fail();
    if (batch.endedAt !== undefined) return;
    const write = async (kind: 'output' | 'error', blob: string) => {
      const lines = work.readResults(id, kind);
      const source = (async function* () {
        for await (const line of lines) yield Buffer.from(`${line}\n`);
      })();
      return { blob, ...(await writer.put(blob, source)) };
    };
    await work.finish(id, {
      output: await write('output', batch.outputBlob),
      error: await write('error', batch.errorBlob),
    });
  };

  const linesOf = async (blob: string): Promise<readonly string[]> => {
    const stream = await blobs.read(blob);
    return Buffer.concat(await stream.toArray())
      .toString()
      .split('\n')
      .slice(0, -1);
  };

  for (const isDone of [false, true]) {
    it(`has each result once, and holds no more than its files, if killed ${isDone ? 'after' : 'before'} any step`, async () => {
      const files = createFiles({ store, blobs, clock, log, limitsOf: () => LIMITS, every: () => () => undefined });
      const batches = createBatches({ store, clock, bell, limitsOf: () => LIMITS });
      let steps = 0;
      for (let dies = 1, isOver = false; !isOver; dies += 1) {
        const owner = { region: 'cn-beijing', workspace: `${isDone} ${dies}`, keyId: 'key_1' } as const;
        const source = (async function* () {
          yield Buffer.from('{}\n');
        })();
        const received = await files.receive(owner, source);
        const draft = { name: 'in.jsonl', description: '', purpose: 'batch' };
        const [input] = await files.keep(owner, [{ received, draft }]);
        const { id } = await batches.create(owner, {
          inputFileId: input?.id ?? assert.fail(),
          endpoint: '/v1/chat/completions',
          completionWindow: '24h',
          windowMs: 24 * HOUR_MS,
          metadata: new Map(),
        });

        const life = mortal(dies, { isDone });
        const first = { store: life.storeOf(store), blobs: life.blobsOf(blobs), clock, log, bell };
        try {
          await run(id, createBatchWork(first), first.blobs, 'completed');
        } catch (thrown) {
          if (!(thrown instanceof Killed)) throw thrown;
        }
        // It has fewer steps than that: it has died at each of them.
        isOver = life.isAlive();
        await run(id, createBatchWork({ store, blobs, clock, log, bell }), blobs, 'completed');
        nowMs += HOUR_MS;
        await sweepExpired({ store, blobs, clock });
        await sweepOrphans({ store, blobs }, Number.MAX_SAFE_INTEGER);
        await sweepLines({ store, clock });
        steps = dies;

        const ended = await batches.find(owner, id);
        const at = `killed at step ${dies}`;
        assert.deepEqual([ended.status, ended.counts], ['completed', { total: 40, completed: 36, failed: 4 }], at);
        const held = await files.list(owner, { limit: 10 });
        const blobOf = (file: string | undefined) => held.find((each) => each.id === file)?.blob ?? assert.fail(at);
        for (const [kind, file] of [
          ['output', ended.outputFileId],
          ['error', ended.errorFileId],
        ] as const) {
          const wanted = results.filter((each) => each.kind === kind).map(({ json }) => json);
          assert.deepEqual(await linesOf(blobOf(file)), wanted, at);
        }
        assert.deepEqual(
          await store.fileTotals.look(owner),
          { files: 3, bytes: held.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) },
          at,
        );
        assert.equal(held.length, 3, at);
        assert.deepEqual(await store.batchLines.done(id, { first: 1, last: LINES }), [], at);
        const names = (await Array.fromAsync(blobs.list())).map(({ name }) => name);
        assert.deepEqual(new Set(names), await store.files.known(names), at);
        assert.deepEqual(await store.files.listExpired({ before: Number.MAX_SAFE_INTEGER, limit: 10 }), [], at);
      }
      await files.close();
      assert.ok(steps > 15, `there were ${steps} steps`);
    });
  }
});
