import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { openDisk } from '../../src/blobs/disk.ts';
import type { BatchStatus, LineResult } from '../../src/core/batch.ts';
import { systemIds } from '../../src/core/id.ts';
import { BATCH_HOLD_MS, FILE_LOOK_MS } from '../../src/core/limits.ts';
import type { Batches, BatchWork } from '../../src/resources/batches/batch.ts';
import { createBatches } from '../../src/resources/batches/service.ts';
import { sweepLines } from '../../src/resources/batches/sweep.ts';
import { createBatchWork } from '../../src/resources/batches/work.ts';
import type { FileLimits, Files } from '../../src/resources/files/file.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { sweepExpired, sweepOrphans } from '../../src/resources/files/sweep.ts';
import type { JobNews } from '../../src/resources/jobs/job-bell.ts';
import type { BatchRecord } from '../../src/store/batches.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

const START = 1_790_000_000_123;
const DAY_MS = 86_400_000;
const MIB = 1024 ** 2;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const ROOMY: FileLimits = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 1e6 };
const CALLBACK = 'ds_batch_finish_callback';

type Named = ReturnType<typeof owned>;
const owned = (workspace: string) => ({ ...OWNER, workspace });

async function* bytes(size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; left -= MIB) yield Buffer.alloc(Math.min(left, MIB), 7);
}

/** Every tenth line fails. */
const result = (line: number, change: Partial<LineResult> = {}): LineResult => ({
  line,
  kind: line % 10 === 0 ? 'error' : 'output',
  json: `{"custom_id":"${line}"}`,
  ...change,
});
const results = (count: number) => Array.from({ length: count }, (_, at) => result(at + 1));

const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: Error & { kind?: string }) => error.kind ?? error.message,
  );

for (const { name, dialect } of DIALECTS) {
  describe(`batches on ${name}`, () => {
    let folder = '';
    let store: Store;
    let blobs: BlobStore;
    let files: Files;
    let batches: Batches;
    let work: BatchWork;
    let nowMs = START;
    let limits = ROOMY;
    const clock = { now: () => nowMs, monotonic: () => nowMs - START };
    const warnings: string[] = [];
    const rung: JobNews[] = [];
    let made = 0;
    const ids = {
      ...systemIds,
      sortable: (prefix: string) => `${prefix}${(made += 1).toString(16).padStart(32, '0')}`,
    };

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-batches-'));
      store = await openStore({ dialect: dialect(folder) });
      blobs = await openDisk({ folder: join(folder, 'blobs') });
      const log = { warn: (message: string) => void warnings.push(message) };
      const bell = { ring: (news: JobNews) => void rung.push(news) };
      const needs = { store, blobs, clock, log, bell, ids, limitsOf: () => limits, every: () => () => undefined };
      files = createFiles({ ...needs, roomWaits: { lookMs: 5, tryMs: 10, lastMs: 20_000, longestMs: 20_000 } });
      batches = createBatches(needs);
      work = createBatchWork(needs);
    });
    after(async () => {
      await files.close();
      await store.close();
      await rm(folder, { recursive: true });
      assert.deepEqual(warnings, []);
    });

    const upload = async (owner: Named, size = 5, purpose = 'batch') => {
      const received = await files.receive(owner, bytes(size));
      const draft = { name: 'in.jsonl', description: '', purpose };
      const [kept] = await files.keep(owner, [{ received, draft }]);
      return kept ?? assert.fail();
    };
    const create = (owner: Named, inputFileId: string, metadata: Readonly<Record<string, string>> = {}) =>
      batches.create(owner, {
        inputFileId,
        endpoint: '/v1/chat/completions',
        completionWindow: '24h',
        windowMs: DAY_MS,
        metadata: new Map(Object.entries(metadata)),
      });
    const made1 = async (owner: Named, metadata?: Readonly<Record<string, string>>) =>
      await create(owner, (await upload(owner)).id, metadata);
    /** One that runs, with so many results. */
    const begun = async (owner: Named, lines: number, metadata?: Readonly<Record<string, string>>) => {
      const { id } = await made1(owner, metadata);
      await work.start(id, { model: 'svc-plus', total: lines });
      await work.addResults(id, results(lines));
      return id;
    };
    /** As whoever does the work writes its files. */
    const write = async ({ id, outputBlob, errorBlob, counts }: BatchRecord) => {
      const put = async (kind: 'output' | 'error', blob: string) => {
        const lines = work.readResults(id, kind);
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
    const finalize = async (id: string, endsAs: 'completed' | 'expired' | 'cancelled' = 'completed') => {
      const batch = (await work.beginFinalizing(id, endsAs)) ?? assert.fail();
      return (await work.finish(id, await write(batch))) ?? assert.fail();
    };
    const held = ({ region, workspace }: Named) =>
      store.transaction(({ fileTotals }) => fileTotals.lock({ region, workspace }));
    /** What there is of files: nothing is reserved in a place where no batch is open. */
    const active = async (owner: Named) => {
      const listed = await files.list(owner, { limit: 10_000 });
      return { files: listed.length, bytes: listed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
    };
    const textOf = async (owner: Named, id: string | undefined) => {
      const stream = await files.read(await files.find(owner, id ?? assert.fail('there is no file')));
      return Buffer.concat(await stream.toArray()).toString();
    };
    const blobNames = async () => {
      const names = new Set<string>();
      for await (const { name: each } of blobs.list()) names.add(each);
      return names;
    };

    describe('being made', () => {
      it('is found as it was put in, with its job, and with room for two files', async () => {
        const owner = owned('made');
        const input = await upload(owner, 3 * MIB);
        rung.length = 0;
        const metadata = { ds_name: `O'Brien 密钥`, ['__proto__']: 'a\0' };
        const batch = await create(owner, input.id, metadata);
        assert.deepEqual(await batches.find(owner, batch.id), batch);
        assert.deepEqual(await work.find(batch.id), batch);
        const { id, outputBlob, errorBlob, ...facts } = batch;
        assert.match(id, /^batch_[0-9a-f]{32}$/);
        assert.notEqual(outputBlob, errorBlob);
        assert.deepEqual(facts, {
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
        assert.deepEqual(await held(owner), { files: 3, bytes: 9 * MIB });
        const job = await store.jobs.findBySubject('batch', id);
        assert.deepEqual([job?.state, job?.owner, job?.dueAt], ['waiting', owner, START]);
        assert.deepEqual(rung, ['due']);
      });

      it('holds a MiB for a small one', async () => {
        const owner = owned('small');
        await made1(owner);
        assert.deepEqual(await held(owner), { files: 3, bytes: 5 + MIB });
      });

      it('is refused for an input that is not there, not its own, not for batches, or too large', async () => {
        const owner = owned('refused');
        const { id } = await upload(owned('refused-other'));
        for (const other of [id, 'file-batch-00', 'file-\0', '']) {
          await assert.rejects(create(owner, other), { kind: 'invalid-request', param: 'input_file_id' });
        }
        const wrong = await upload(owner, 5, 'file-extract');
        await assert.rejects(create(owner, wrong.id), { kind: 'invalid-request', message: /purpose 'batch'/ });
        const large = await upload(owner, MIB + 1);
        const rehearsal = {
          inputFileId: large.id,
          endpoint: '/v1/chat/ds-test',
          completionWindow: '24h',
          windowMs: DAY_MS,
          metadata: new Map<string, string>(),
        };
        await assert.rejects(batches.create(owner, rehearsal), { kind: 'invalid-request', message: /1048576 bytes/ });
        assert.deepEqual(await held(owner), await active(owner));
        assert.deepEqual(await batches.list(owner, { limit: 10 }), []);
        assert.equal(await store.jobs.findBySubject('batch', ''), undefined);
      });

      it('is refused where there is no place for two files, or not their bytes, and leaves nothing', async () => {
        const owner = owned('full');
        const { id } = await upload(owner);
        limits = { ...ROOMY, countMax: 2 };
        await assert.rejects(create(owner, id), {
          kind: 'count-quota',
          message: 'Out of number, <1> of <2> files has been uploaded.',
        });
        limits = { ...ROOMY, totalBytesMax: MIB + 4 };
        await assert.rejects(create(owner, id), {
          kind: 'storage-quota',
          message: `Out of space, <5> of <${MIB + 4}> bytes has been used.`,
        });
        assert.deepEqual(await held(owner), { files: 1, bytes: 5 });
        limits = { ...ROOMY, totalBytesMax: MIB + 5, countMax: 3 };
        await create(owner, id);
        limits = ROOMY;
      });

      it('never overshoots what there may be, however many are made at once; when all have ended, the sums are those of the files', async () => {
        const owner = owned('many');
        const { id } = await upload(owner);
        limits = { ...ROOMY, countMax: 1 + 2 * 10 };
        const tried = await Promise.all(
          Array.from({ length: 50 }, () => create(owner, id).then(({ id: batch }) => batch, kindOfError)),
        );
        const open = tried.filter((each) => each !== 'count-quota');
        assert.equal(open.length, 10);
        assert.deepEqual(await held(owner), { files: 21, bytes: 5 + 10 * MIB });
        limits = ROOMY;
        await Promise.all(
          open.map(async (batch, at) => {
            if (at === 9) return await work.fail(batch, [{ code: 'empty_file', message: 'Empty.' }]);
            if (at === 8) return await finalize(batch, 'cancelled');
            await work.start(batch, { model: 'svc-plus', total: at * 3 });
            await work.addResults(batch, results(at * 3));
            return await finalize(batch, at % 2 === 0 ? 'completed' : 'expired');
          }),
        );
        assert.deepEqual(await held(owner), await active(owner));
        // One of none; of 3, 6 and 9 lines nothing failed; of 12 to 21 something did; two have no results.
        assert.equal(await files.count(owner, 'batch_output'), 3 + 4 * 2);
      });
    });

    describe('being listed', () => {
      it('comes the newest first, page by page, and nobody else sees it', async () => {
        const owner = owned('lists');
        const batchIds: string[] = [];
        const inputs: string[] = [];
        for (let at = 0; at < 6; at += 1) {
          nowMs = START + at * 1000;
          const input = await upload(owner);
          inputs.unshift(input.id);
          const named = { ds_name: ['Nightly 100%', 'nightly_Über', 'a\\b', 'x'][at] ?? '' };
          batchIds.unshift((await create(owner, input.id, named)).id);
        }
        const listed = async (wish: object) =>
          (await batches.list(owner, { limit: 100, ...wish })).map(({ id }) => batchIds.indexOf(id));
        assert.deepEqual(await listed({}), [0, 1, 2, 3, 4, 5]);
        assert.deepEqual(await listed({ limit: 2, after: batchIds[1] }), [2, 3]);
        assert.deepEqual(await listed({ name: 'NIGHT' }), [4, 5]);
        assert.deepEqual(await listed({ name: 'über' }), [4]);
        assert.deepEqual(await listed({ name: '%' }), [5]);
        assert.deepEqual(await listed({ name: '_' }), [4]);
        assert.deepEqual(await listed({ name: '\\' }), [3]);
        assert.deepEqual(await listed({ name: "'" }), []);
        assert.deepEqual(await listed({ name: 'night\0' }), []);
        assert.deepEqual(await listed({ inputFileIds: [inputs[1], inputs[4], 'file-\0'] }), [1, 4]);
        assert.deepEqual(await listed({ createdFrom: START + 2000, createdTo: START + 4000 }), [1, 2, 3]);
        await work.start(batchIds[2] ?? '', { model: 'svc-plus', total: 1 });
        await batches.cancel(owner, batchIds[3] ?? '');
        assert.deepEqual(await listed({ statuses: ['in_progress', 'cancelling'] }), [2, 3]);
        assert.deepEqual(await listed({ statuses: ['completed'] }), []);
        nowMs = START + 30 * DAY_MS + 1500;
        assert.deepEqual(await listed({}), [0, 1, 2, 3]);
        assert.deepEqual(await listed({ createdFrom: START }), [0, 1, 2, 3]);
        nowMs = START;
        await assert.rejects(listed({ after: 'nonsense' }), { kind: 'invalid-request', param: 'after' });
        for (const stranger of [owned('other'), { ...owner, region: 'ap-southeast-1' as const }]) {
          assert.deepEqual(await batches.list(stranger, { limit: 10 }), []);
          for (const each of [batches.find(stranger, batchIds[0] ?? ''), batches.cancel(stranger, batchIds[0] ?? '')]) {
            assert.equal(await kindOf(each), 'not-found');
          }
        }
        assert.equal((await batches.find(owner, batchIds[0] ?? '')).status, 'validating');
      });

      it('is not there under an id with a NUL in it, and nothing fails for one', async () => {
        const owner = owned('nul');
        const { id } = await made1(owner);
        for (const other of [`${id}\0`, '\0', '', 'x'.repeat(10_000)]) {
          for (const each of [batches.find(owner, other), batches.cancel(owner, other)]) {
            assert.equal(await kindOf(each), 'not-found');
          }
          assert.equal(await work.find(other), undefined);
        }
      });
    });

    describe('running', () => {
      it('begins once, and has its window from when it was made', async () => {
        const { id } = await made1(owned('begins'));
        nowMs = START + 5000;
        const started = await work.start(id, { model: 'svc-plus', total: 3 });
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
        assert.deepEqual(await work.start(id, { model: 'other', total: 9 }), started);
        nowMs = START;
        assert.equal(await work.start('batch_none', { model: 'm', total: 1 }), undefined);
      });

      it('keeps the first result of each line, however many bring one, and counts what it keeps', async () => {
        const owner = owned('once');
        const { id } = await made1(owner);
        await work.addResults(id, [result(10)]);
        await work.start(id, { model: 'svc-plus', total: 60 });
        const all = results(60);
        await Promise.all([
          ...Array.from({ length: 6 }, (_, part) => work.addResults(id, all.slice(part * 10, part * 10 + 10))),
          ...Array.from({ length: 6 }, (_, part) =>
            work.addResults(
              id,
              all
                .slice(part * 10, part * 10 + 10)
                .toReversed()
                .map((each) => ({ ...each })),
            ),
          ),
        ]);
        const counts = { total: 60, completed: 54, failed: 6 };
        const again = [result(1, { kind: 'error', json: 'other' })];
        assert.deepEqual(await work.addResults(id, again), counts);
        assert.deepEqual(await work.addResults(id, []), counts);
        assert.deepEqual((await work.find(id))?.counts, counts);
        assert.deepEqual(await work.doneLines(id, { first: 58, last: 70 }), new Set([58, 59, 60]));
        const read = await Array.fromAsync(work.readResults(id, 'output'));
        assert.deepEqual(
          read,
          all.filter(({ kind }) => kind === 'output').map(({ json }) => json),
        );
      });
    });

    describe('ending', () => {
      it('makes files of its results, which are found as any other, and gives back the room that is left', async () => {
        const owner = owned('ends');
        const id = await begun(owner, 100);
        nowMs = START + 7000;
        const finalizing = await work.beginFinalizing(id, 'completed');
        assert.deepEqual([finalizing?.status, finalizing?.finalizingAt], ['finalizing', nowMs]);
        const ended = (await work.finish(id, await write(finalizing ?? assert.fail()))) ?? assert.fail();
        assert.deepEqual(
          [ended.status, ended.endedAt, ended.counts],
          ['completed', nowMs, { total: 100, completed: 90, failed: 10 }],
        );
        assert.match(ended.outputFileId ?? '', /^file-batch_output-[0-9a-f]{32}$/);
        assert.match(ended.errorFileId ?? '', /^file-batch_error-[0-9a-f]{32}$/);
        const text = await textOf(owner, ended.outputFileId);
        assert.deepEqual(
          text.split('\n').slice(0, -1),
          results(100).flatMap(({ line, json }) => (line % 10 === 0 ? [] : json)),
        );
        const { name: called, purpose, sizeBytes, keyId } = await files.find(owner, ended.errorFileId ?? '');
        assert.deepEqual(
          { called, purpose, keyId },
          { called: `${id}_error.jsonl`, purpose: 'batch_output', keyId: 'key_1' },
        );
        assert.equal(sizeBytes, Buffer.byteLength(await textOf(owner, ended.errorFileId)));
        assert.deepEqual((await files.list(owner, { limit: 9, purpose: 'batch_output' })).length, 2);
        assert.deepEqual(await held(owner), await active(owner));
        assert.deepEqual(await Array.fromAsync(work.readResults(id, 'output')), []);
        for (const file of [ended.outputFileId, ended.errorFileId]) await files.delete(owner, file ?? '');
        assert.deepEqual(await held(owner), { files: 1, bytes: 5 });
        nowMs = START;
      });

      it('takes in no result once its files are written, so that what is read twice is the same', async () => {
        const owner = owned('frozen');
        const { id } = await made1(owner);
        await work.start(id, { model: 'svc-plus', total: 3 });
        await work.addResults(id, [result(1)]);
        await work.beginFinalizing(id, 'cancelled');
        assert.equal(await work.addResults(id, [result(2)]), undefined);
        assert.deepEqual(await Array.fromAsync(work.readResults(id, 'output')), [result(1).json]);
        const ended = await finalize(id, 'cancelled');
        assert.deepEqual([ended.status, ended.counts.completed], ['cancelled', 1]);
        assert.equal(await work.addResults(id, [result(3)]), undefined);
        assert.equal(await work.addResults('batch_none', [result(3)]), undefined);
      });

      it('may be begun again after any break: it gives new names, and who was slow keeps nothing', async () => {
        const owner = owned('again');
        const id = await begun(owner, 20);
        const slow = (await work.beginFinalizing(id, 'expired')) ?? assert.fail();
        const written = await write(slow);
        const next = (await work.beginFinalizing(id, 'completed')) ?? assert.fail();
        assert.deepEqual([next.endsAs, next.finalizingAt], ['expired', slow.finalizingAt]);
        assert.equal((await blobNames()).has(slow.outputBlob), false);
        assert.equal(await kindOf(work.finish(id, written)), 'conflict');
        assert.equal((await work.find(id))?.status, 'finalizing');
        const ended = await work.finish(id, await write(next));
        assert.equal(ended?.status, 'expired');
        assert.deepEqual(await held(owner), await active(owner));
        for (const late of [
          await work.finish(id, written),
          await work.beginFinalizing(id, 'cancelled'),
          await work.fail(id, []),
          await work.start(id, { model: 'm', total: 1 }),
        ]) {
          assert.deepEqual(late, ended);
        }
        assert.deepEqual(await held(owner), await active(owner));
        assert.match(await textOf(owner, ended?.outputFileId), /"custom_id":"19"/);
      });

      it('counts results that are larger than what was reserved, and refuses them never', async () => {
        const owner = owned('larger');
        const { id } = await made1(owner);
        await work.start(id, { model: 'svc-plus', total: 3 });
        const long = JSON.stringify({ text: 'x'.repeat(MIB) });
        await work.addResults(id, [result(1, { json: long }), result(2, { json: long })]);
        limits = { ...ROOMY, totalBytesMax: 5 + MIB };
        const ended = await finalize(id);
        assert.equal((await files.find(owner, ended.outputFileId ?? '')).sizeBytes, 2 * (long.length + 1));
        assert.deepEqual(await held(owner), await active(owner));
        assert.equal(await kindOf(upload(owner)), 'storage-quota');
        limits = ROOMY;
      });

      it('that fails has its problems, at most a hundred, no files and no counts', async () => {
        const owner = owned('fails');
        const { id } = await made1(owner);
        await work.addResults(id, results(30));
        const problems = Array.from({ length: 150 }, (_, at) => ({ code: 'x', message: 'y', param: 'url', line: at }));
        const ended = await work.fail(id, problems);
        assert.deepEqual(
          [ended?.status, ended?.errors, ended?.counts, ended?.outputFileId, ended?.errorFileId],
          ['failed', problems.slice(0, 100), { total: 0, completed: 0, failed: 0 }, undefined, undefined],
        );
        assert.deepEqual(await held(owner), { files: 1, bytes: 5 });
        assert.deepEqual(await work.doneLines(id, { first: 1, last: 30 }), new Set());
      });

      it('tells whoever wants to be told by a job of its own, once', async () => {
        const owner = owned('told');
        const wants = { [CALLBACK]: 'https://example.com/done' };
        const id = await begun(owner, 3, wants);
        assert.equal(await store.jobs.findBySubject('batch-callback', id), undefined);
        rung.length = 0;
        const batch = (await work.beginFinalizing(id, 'completed')) ?? assert.fail();
        const written = await write(batch);
        const [one, other] = await Promise.all([work.finish(id, written), work.finish(id, written)]);
        assert.deepEqual(one, other);
        const job = await store.jobs.findBySubject('batch-callback', id);
        assert.deepEqual([job?.state, job?.owner, rung], ['waiting', owner, ['due']]);
        const failed = await made1(owner, wants);
        await work.fail(failed.id, []);
        assert.ok(await store.jobs.findBySubject('batch-callback', failed.id));
        const silent = await begun(owner, 3);
        await finalize(silent);
        assert.equal(await store.jobs.findBySubject('batch-callback', silent), undefined);
      });

      it('leaves no lines behind where its process was killed before it removed them', async () => {
        const owner = owned('lines');
        const id = await begun(owner, 600);
        const batch = (await work.beginFinalizing(id, 'completed')) ?? assert.fail();
        await work.finish(id, await write(batch));
        // As if it had ended in between.
        await store.batchLines.insert(id, results(600));
        await store.transaction(({ batches: table }) => table.change(id, { linesUntil: nowMs }));
        assert.equal(await sweepLines({ store, clock }), 0);
        nowMs += FILE_LOOK_MS + 1;
        assert.equal(await sweepLines({ store, clock }), 1);
        assert.deepEqual(await work.doneLines(id, { first: 1, last: 600 }), new Set());
        assert.equal(await sweepLines({ store, clock }), 0);
        nowMs = START;
      });
    });

    describe('being cancelled', () => {
      for (const [when, from] of [
        ['while it validates', 'validating'],
        ['while it runs', 'in_progress'],
        ['while its files are written', 'finalizing'],
      ] as const) {
        it(`says so at once, ${when}, and tells its job; it ends so whatever it was about to end as`, async () => {
          const owner = owned(`cancel-${from}`);
          const id = from === 'validating' ? (await made1(owner)).id : await begun(owner, 20);
          const before = from === 'finalizing' ? await work.beginFinalizing(id, 'completed') : await work.find(id);
          assert.equal(before?.status, from satisfies BatchStatus);
          const written = from === 'finalizing' ? await write(before) : {};
          rung.length = 0;
          nowMs = START + 3000;
          const cancelling = await batches.cancel(owner, id);
          assert.deepEqual([cancelling.status, cancelling.cancellingAt, rung], ['cancelling', nowMs, ['cancelled']]);
          assert.equal((await store.jobs.findBySubject('batch', id))?.isCancelled, true);
          nowMs = START + 4000;
          assert.deepEqual(await batches.cancel(owner, id), cancelling);
          const ended = from === 'finalizing' ? await work.finish(id, written) : await finalize(id, 'cancelled');
          assert.deepEqual([ended?.status, ended?.cancellingAt], ['cancelled', START + 3000]);
          assert.equal(ended?.outputFileId === undefined, from === 'validating');
          assert.deepEqual(await held(owner), await active(owner));
          nowMs = START;
        });
      }

      it('is a conflict once it has ended', async () => {
        const owner = owned('cancel-ended');
        const id = await begun(owner, 2);
        await finalize(id);
        await assert.rejects(batches.cancel(owner, id), {
          kind: 'conflict',
          message: "Cannot cancel a batch with status 'completed'.",
        });
      });
    });

    describe('and its files', () => {
      it('keep the input as long as a batch reads it, in this workspace alone', async () => {
        const owner = owned('in-use');
        const input = await upload(owner);
        const [first, second] = [await create(owner, input.id), await create(owner, input.id)];
        assert.equal(await kindOf(files.delete(owned('elsewhere'), input.id)), 'file-not-found');
        for (const { id } of [first, second]) {
          await assert.rejects(files.delete(owner, input.id), { kind: 'conflict' });
          assert.equal((await files.find(owner, input.id)).id, input.id);
          await work.fail(id, []);
        }
        const before = await held(owner);
        await files.delete(owner, input.id);
        assert.deepEqual(
          [before, await held(owner)],
          [
            { files: 1, bytes: 5 },
            { files: 0, bytes: 0 },
          ],
        );
        assert.deepEqual(await files.count(owner, 'batch'), 0);
      });

      it('are never both: an input that is deleted, and a batch that begins to read it', async () => {
        const owner = owned('race');
        for (let round = 0; round < 10; round += 1) {
          const input = await upload(owner);
          const [deleted, made] = await Promise.all([
            kindOf(files.delete(owner, input.id)),
            kindOf(create(owner, input.id)),
          ]);
          assert.ok(
            (deleted === 'done' && made === 'invalid-request') || (deleted === 'conflict' && made === 'done'),
            `${deleted} and ${made}`,
          );
        }
      });

      it('have their room as long as the batch is open, also where no process lived for days', async () => {
        const owner = owned('swept');
        const id = await begun(owner, 10);
        const batch = (await work.beginFinalizing(id, 'completed')) ?? assert.fail();
        const written = await write(batch);
        nowMs = START + 40 * DAY_MS;
        await sweepExpired({ store, blobs, clock });
        await sweepOrphans({ store, blobs }, Number.MAX_SAFE_INTEGER);
        assert.deepEqual((await held(owner)).files, 3);
        // The next look is at what may have changed since.
        nowMs += BATCH_HOLD_MS - 1;
        assert.equal(await sweepExpired({ store, blobs, clock }), 0);
        const ended = await work.finish(id, written);
        assert.equal(ended?.status, 'completed');
        assert.deepEqual(await held(owner), await active(owner));
        await textOf(owner, ended?.outputFileId);
        nowMs = START;
      });

      it('give their room back where the batch is gone, with what was written', async () => {
        const owner = owned('gone');
        const { workspace, region } = owner;
        const at = clock.now();
        await store.transaction(async ({ files: table, fileTotals }) => {
          await fileTotals.lock(owner);
          const wish = { region, workspace, keyId: 'key_1', bytes: MIB, leaseUntil: at + BATCH_HOLD_MS, at };
          await table.reserve({ ...wish, blob: 'results_gone', heldFor: 'batch_gone' });
          await fileTotals.add(owner, { files: 1, bytes: MIB });
        });
        await blobs.put('results_gone', bytes(7));
        nowMs = START + BATCH_HOLD_MS + 1;
        await sweepExpired({ store, blobs, clock });
        assert.deepEqual(await held(owner), { files: 0, bytes: 0 });
        assert.equal((await blobNames()).has('results_gone'), false);
        nowMs = START;
      });

      it('are swept as blobs where no record leads to them', async () => {
        await blobs.put('results_orphan', bytes(7));
        await sweepOrphans({ store, blobs }, Number.MAX_SAFE_INTEGER);
        assert.equal((await blobNames()).has('results_orphan'), false);
      });

      it('make no upload wait: what is held for a batch is not about to be given back', async () => {
        const owner = owned('patience');
        const { id } = await upload(owner);
        await create(owner, id);
        limits = { ...ROOMY, totalBytesMax: MIB + 10 };
        const begunAt = performance.now();
        assert.equal(await kindOf(upload(owner, 100)), 'storage-quota');
        assert.ok(performance.now() - begunAt < 10_000, 'it was told so before its patience ended');
        limits = ROOMY;
      });
    });
  });
}

const kindOfError = (error: Error & { kind?: string }) => error.kind ?? error.message;
