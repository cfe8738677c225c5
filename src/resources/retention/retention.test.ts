import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { PeriodicTask } from '../../lib/periodic-task.ts';
import { ServiceError } from '../../core/error.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import { insertTestRun } from '../responses/__fixtures__/insert-test-run.ts';
import { startRetention, type RetentionPeriods } from './retention.ts';

/** Polls until the condition holds, because the cleanup runs concurrently. */
async function waitUntil(description: string, poll: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await poll());) {
    assert.ok(performance.now() < deadline, `not in time: ${description}`);
    await yieldToEventLoop();
  }
}

const DAY = 86_400_000;
const START = Date.parse('2026-07-01T12:00:00Z');
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => 0 };
let store: Store;
let intervals: (() => void)[];
let logLines: string[];
let busyFiles: Set<string>;
let retention: PeriodicTask | undefined;

/** Deletes the row of a file; `busyFiles` are read by a batch that began after the list. */
const deleteFile = async (_owner: unknown, id: string): Promise<void> => {
  if (busyFiles.delete(id)) throw new ServiceError('conflict', 'in use');
  const retired = await store.files.retire(SCOPE, id, { leaseUntil: nowMs, at: nowMs });
  assert.ok(retired);
  await store.files.remove(retired.blob);
};
const insertFile = async (id: string, createdAt: number): Promise<void> => {
  const reservation = { ...SCOPE, blob: `upload_${id}`, keyId: 'key_1', bytes: 1, leaseUntil: START, at: createdAt };
  await store.files.reserve(reservation);
  const metadata = { name: '', description: '', purpose: 'batch', sizeBytes: 1, md5: '' };
  await store.files.activate(reservation.blob, { ...metadata, id, sortKey: id, number: 1, createdAt });
};

const start = (days: Partial<RetentionPeriods>, other: Store = store): PeriodicTask => {
  const log = { info: (text: string) => logLines.push(text), warn: (text: string) => logLines.push(text) };
  const startInterval = (_ms: number, run: () => void) => {
    intervals.push(run);
    return () => intervals.splice(intervals.indexOf(run), 1);
  };
  const periods = { conversationsDays: 0, responsesDays: 0, batchesDays: 0, filesDays: 0, keysDays: 0, ...days };
  retention = startRetention({ store: other, clock, log: { ...log }, startInterval, periods, deleteFile });
  return retention;
};

beforeEach(async () => {
  nowMs = START;
  intervals = [];
  logLines = [];
  busyFiles = new Set();
  store = await openTestStore();
});
afterEach(async () => {
  await retention?.close();
  retention = undefined;
  assert.equal(intervals.length, 0);
  await store.close();
});

const insertConversation = async (id: string, changedAt: number) => {
  await store.conversations.insert({ ...SCOPE, id, createdAt: 0, metadata: new Map() }, { nextPosition: 1 });
  await store.items.insert({ ...SCOPE, container: id }, [{ id: `msg_${id}`, json: '{}' }], { position: 0 });
  await store.conversations.setMetadata(SCOPE, id, new Map(), changedAt);
};
const insertResponse = async (id: string, createdAt: number) => {
  const sizes = { itemCount: 1, itemBytes: 2, json: '{}' };
  await store.responses.insert({ ...SCOPE, id, createdAt, ...sizes });
  await store.items.insert({ ...SCOPE, container: id }, [{ id: `msg_${id}`, json: '{}' }], { position: 0 });
};
const insertBatch = async (id: string, endedAt: number | undefined, { linesUntil }: { linesUntil?: number } = {}) => {
  const owner = { ...SCOPE, keyId: 'key_1' };
  const blobs = { inputBlob: 'input', outputBlob: `o_${id}`, errorBlob: `e_${id}` };
  const fields = { endpoint: '/v1/chat/completions', inputFileId: 'file_1', completionWindow: '24h', windowMs: DAY };
  await store.batches.insert({ ...owner, ...blobs, ...fields, id, metadata: new Map(), createdAt: 0, name: '' });
  await store.jobs.insert({
    id: `job_${id}`,
    kind: 'batch',
    subject: id,
    owner,
    payload: {},
    priority: 1,
    attemptsMax: 1,
    createdAt: 0,
    runAfter: 0,
  });
  if (endedAt !== undefined) await store.batches.update(id, { status: 'completed', endedAt, linesUntil });
};
const insertKey = (id: string, ends: { revokedAt?: number; expiresAt?: number }) =>
  store.keys.insert({
    hash: `hash-${id}`,
    record: {
      ...SCOPE,
      id,
      name: '',
      hint: 'wxyz',
      createdAt: 0,
      expiresAt: ends.expiresAt,
      revokedAt: ends.revokedAt,
      usedAt: undefined,
    },
  });
const findRemaining = async () => ({
  conversations: (await store.conversations.list({ limit: 500 })).map(({ id }) => id),
  responses: (await store.responses.list({ limit: 500 })).map(({ id }) => id),
});
/** Waits for the log line that a cleanup with removals writes at its end. */
const waitForCleanup = () => waitUntil('a cleanup has finished', async () => logLines.length > 0);
const waitForRemaining = (conversations: readonly string[], responses: readonly string[]) =>
  waitUntil(
    `${String(conversations)} and ${String(responses)} are left`,
    async () => JSON.stringify(await findRemaining()) === JSON.stringify({ conversations, responses }),
  );

describe('retention', () => {
  it('removes expired conversations and responses with their items, at start and periodically', async () => {
    await insertConversation('conv_old', START - 7 * DAY - 1);
    await insertConversation('conv_young', START - 7 * DAY);
    await insertResponse('resp_old', START - 2 * DAY - 1);
    await insertResponse('resp_young', START - 2 * DAY);
    start({ conversationsDays: 7, responsesDays: 2 });
    await waitForCleanup();
    assert.deepEqual(await findRemaining(), { conversations: ['conv_young'], responses: ['resp_young'] });
    const ids = ['conv_old', 'conv_young', 'resp_old', 'resp_young'].map((id) => `msg_${id}`);
    const items = await store.items.findMany(SCOPE, ids);
    assert.deepEqual([...items.keys()].toSorted(), ['msg_conv_young', 'msg_resp_young']);
    nowMs += 1;
    // A run that is due during another one is skipped.
    await waitUntil('the next run removes the rest', async () => {
      for (const run of intervals) run();
      return JSON.stringify(await findRemaining()) === '{"conversations":[],"responses":[]}';
    });
    assert.deepEqual(new Set(logLines), new Set(['retention cleanup finished']));
  });

  it('removes background responses with their events and jobs, with or without an answer', async () => {
    const old = START - 2 * DAY - 1;
    await insertTestRun(store, {
      ...SCOPE,
      id: 'resp_old',
      createdAt: old,
      state: 'completed',
      endedAt: old,
      json: undefined,
    });
    await insertResponse('resp_old', old);
    await insertTestRun(store, { ...SCOPE, id: 'resp_failed', createdAt: old, state: 'failed', endedAt: old });
    await insertTestRun(store, { ...SCOPE, id: 'resp_waits', createdAt: old });
    await insertTestRun(store, { ...SCOPE, id: 'resp_young', createdAt: old + 1 });
    start({ responsesDays: 2 });
    await waitForCleanup();
    assert.deepEqual((await findRemaining()).responses, []);
    assert.deepEqual(
      (await store.background.list({ limit: 9 })).map(({ id }) => id),
      ['resp_young'],
    );
    for (const id of ['resp_old', 'resp_failed', 'resp_waits', 'resp_young']) {
      const events = await store.responseEvents.read(id, { from: 0, chunksMax: 1 });
      const job = await store.jobs.findBySubject('response', id);
      assert.deepEqual([events.length, job !== undefined], id === 'resp_young' ? [1, true] : [0, false], id);
    }
  });

  it('keeps data without a configured retention', async () => {
    await insertConversation('conv_old', 0);
    await insertResponse('resp_old', 0);
    await start({}).close();
    assert.deepEqual(await findRemaining(), { conversations: ['conv_old'], responses: ['resp_old'] });
    start({ responsesDays: 1 });
    await waitForRemaining(['conv_old'], []);
  });

  it('removes batches some days after their end, with their jobs', async () => {
    await insertBatch('batch_ended', START - 3 * DAY - 1);
    await insertBatch('batch_young', START - 3 * DAY);
    await insertBatch('batch_lines', START - 3 * DAY - 1, { linesUntil: 1 });
    await insertBatch('batch_running', undefined);
    start({ batchesDays: 3 });
    await waitForCleanup();
    const found = async (id: string) => [
      (await store.batches.find(SCOPE, id)) !== undefined,
      (await store.jobs.findBySubject('batch', id)) !== undefined,
    ];
    assert.deepEqual(await found('batch_ended'), [false, false]);
    for (const id of ['batch_young', 'batch_lines', 'batch_running'])
      assert.deepEqual(await found(id), [true, true], id);
  });

  it('removes files some days after their creation, except inputs of batches that have not ended', async () => {
    const old = START - 3 * DAY - 1;
    for (const [id, createdAt] of [
      ['file_old', old],
      ['file_1', old],
      ['file_young', old + 1],
    ] as const)
      await insertFile(id, createdAt);
    await insertBatch('batch_running', undefined);
    busyFiles.add('file_old');
    start({ filesDays: 3 });
    await waitForCleanup();
    const files = await store.files.list(SCOPE, { limit: 9 });
    assert.deepEqual(files.map(({ id }) => id).toSorted(), ['file_1', 'file_young']);
  });

  it('removes keys some days after they were revoked or expired, and never a valid one', async () => {
    const old = START - 3 * DAY - 1;
    await insertKey('key_revoked', { revokedAt: old });
    await insertKey('key_expired', { expiresAt: old });
    await insertKey('key_revoked_lately', { revokedAt: old + 1 });
    await insertKey('key_valid', { expiresAt: START + 1 });
    await insertKey('key_endless', {});
    for (let at = 0; at < 120; at++) await insertKey(`key_many_${at}`, { revokedAt: at + 1 });
    start({ keysDays: 3 });
    await waitForCleanup();
    assert.deepEqual(
      (await store.keys.list({ limit: 500 })).map(({ id }) => id),
      ['key_endless', 'key_revoked_lately', 'key_valid'],
    );
  });

  it('continues until all expired records are removed', async () => {
    for (let at = 0; at < 130; at++) await insertResponse(`resp_${at}`, at);
    start({ responsesDays: 1 });
    await waitForRemaining([], []);
  });

  it('keeps a conversation with a running turn', async () => {
    await insertConversation('conv_busy', 0);
    await store.conversations.acquireTurnLease(SCOPE, 'conv_busy', { turn: 'resp_1', until: START + 1, now: START });
    await insertConversation('conv_idle', 0);
    start({ conversationsDays: 1 });
    await waitForCleanup();
    assert.deepEqual(await findRemaining(), { conversations: ['conv_busy'], responses: [] });
  });

  it('keeps a conversation that changed after it was listed', async () => {
    await insertConversation('conv_changed', 0);
    await insertConversation('conv_old', 1);
    const listUnchanged: Store['conversations']['listUnchanged'] = async (query) => {
      const records = await store.conversations.listUnchanged(query);
      await store.conversations.setMetadata(SCOPE, 'conv_changed', new Map(), START);
      return records;
    };
    start({ conversationsDays: 1 }, { ...store, conversations: { ...store.conversations, listUnchanged } });
    await waitForCleanup();
    assert.deepEqual(await findRemaining(), { conversations: ['conv_changed'], responses: [] });
  });

  it('runs once at a time', async () => {
    let lists = 0;
    let unblock: (() => void) | undefined;
    const blocked = new Promise<void>((resolve) => (unblock = resolve));
    const listOlder: Store['responses']['listUnneededBefore'] = async () => {
      lists += 1;
      await blocked;
      return [];
    };
    const cleanup = start(
      { responsesDays: 1 },
      { ...store, responses: { ...store.responses, listUnneededBefore: listOlder } },
    );
    for (const run of [...intervals, ...intervals]) run();
    await waitUntil('a run has begun', async () => lists > 0);
    const listsStarted = lists;
    unblock?.();
    await cleanup.close();
    assert.equal(listsStarted, 1);
  });

  it('stops between two removals when it is closed', async () => {
    for (let at = 0; at < 20; at++) await insertResponse(`resp_${at}`, at);
    await start({ responsesDays: 1 }).close();
    assert.ok((await findRemaining()).responses.length > 10);
  });

  it('logs a failure of the store and retries at the next run', async () => {
    await insertResponse('resp_old', 0);
    let isBroken = true;
    const listOlder: Store['responses']['listUnneededBefore'] = (query) =>
      isBroken ? Promise.reject(new Error('disk')) : store.responses.listUnneededBefore(query);
    start({ responsesDays: 1 }, { ...store, responses: { ...store.responses, listUnneededBefore: listOlder } });
    await waitUntil('the failure is logged', async () => logLines.length > 0);
    assert.deepEqual(logLines, ['retention cleanup failed']);
    isBroken = false;
    await waitUntil('the next run removes it', async () => {
      for (const run of intervals) run();
      return (await findRemaining()).responses.length === 0;
    });
  });
});
