import assert from 'node:assert/strict';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Sweeper } from '../../lib/sweeper.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { storeRun } from '../responses/__fixtures__/store-run.ts';
import { startRetention } from './retention.ts';
import type { RetentionNeeds } from './retention.ts';

/** Looks again and again: what is removed is removed beside whoever looks. */
async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await look());) {
    assert.ok(performance.now() < deadline, `not in time: ${what}`);
    await turnOfOthers();
  }
}

const DAY = 86_400_000;
const START = Date.parse('2026-07-01T12:00:00Z');
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => 0 };
let store: Store;
let looks: (() => void)[];
let said: string[];
let retention: Sweeper | undefined;

const start = (days: Partial<RetentionNeeds>, other: Store = store): Sweeper => {
  const log = { info: (text: string) => said.push(text), warn: (text: string) => said.push(text) };
  const every = (_ms: number, run: () => void) => {
    looks.push(run);
    return () => looks.splice(looks.indexOf(run), 1);
  };
  const none = { conversationsDays: undefined, responsesDays: undefined };
  retention = startRetention({ store: other, clock, log: { ...log }, every, ...none, ...days });
  return retention;
};

beforeEach(async () => {
  nowMs = START;
  looks = [];
  said = [];
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
});
afterEach(async () => {
  await retention?.close();
  retention = undefined;
  assert.equal(looks.length, 0);
  await store.close();
});

const conversation = async (id: string, changedAt: number) => {
  await store.conversations.insert({ ...PLACE, id, createdAt: 0, metadata: new Map() }, { nextPosition: 1 });
  await store.items.insert({ ...PLACE, container: id }, [{ id: `msg_${id}`, json: '{}' }], { position: 0 });
  await store.conversations.setMetadata(PLACE, id, new Map(), changedAt);
};
const response = async (id: string, createdAt: number) => {
  const sizes = { itemCount: 1, itemBytes: 2, json: '{}' };
  await store.responses.insert({ ...PLACE, id, createdAt, ...sizes });
  await store.items.insert({ ...PLACE, container: id }, [{ id: `msg_${id}`, json: '{}' }], { position: 0 });
};
const left = async () => ({
  conversations: (await store.conversations.list({ limit: 500 })).map(({ id }) => id),
  responses: (await store.responses.list({ limit: 500 })).map(({ id }) => id),
});
/** A look that removed something says so at its end. */
const lookIsOver = () => until('a look has come to its end', async () => said.length > 0);
const leftIs = (conversations: readonly string[], responses: readonly string[]) =>
  until(
    `${String(conversations)} and ${String(responses)} are left`,
    async () => JSON.stringify(await left()) === JSON.stringify({ conversations, responses }),
  );

describe('retention', () => {
  it('removes what has passed its age, with its items, at the start and at every look', async () => {
    await conversation('conv_old', START - 7 * DAY - 1);
    await conversation('conv_young', START - 7 * DAY);
    await response('resp_old', START - 2 * DAY - 1);
    await response('resp_young', START - 2 * DAY);
    start({ conversationsDays: 7, responsesDays: 2 });
    await lookIsOver();
    assert.deepEqual(await left(), { conversations: ['conv_young'], responses: ['resp_young'] });
    const ids = ['conv_old', 'conv_young', 'resp_old', 'resp_young'].map((id) => `msg_${id}`);
    const items = await store.items.findMany(PLACE, ids);
    assert.deepEqual([...items.keys()].toSorted(), ['msg_conv_young', 'msg_resp_young']);
    nowMs += 1;
    // A look that comes while another one is at work is left out.
    await until('the next look removes the rest', async () => {
      for (const look of looks) look();
      return JSON.stringify(await left()) === '{"conversations":[],"responses":[]}';
    });
    assert.deepEqual(new Set(said), new Set(['removed what has passed its age']));
  });

  it('removes what was made while nobody waited, with its events and its job, whether it ever had an answer or not', async () => {
    const old = START - 2 * DAY - 1;
    await storeRun(store, {
      ...PLACE,
      id: 'resp_old',
      createdAt: old,
      state: 'completed',
      endedAt: old,
      json: undefined,
    });
    await response('resp_old', old);
    await storeRun(store, { ...PLACE, id: 'resp_failed', createdAt: old, state: 'failed', endedAt: old });
    await storeRun(store, { ...PLACE, id: 'resp_waits', createdAt: old });
    await storeRun(store, { ...PLACE, id: 'resp_young', createdAt: old + 1 });
    start({ responsesDays: 2 });
    await lookIsOver();
    assert.deepEqual((await left()).responses, []);
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

  it('keeps for ever what no age is set for', async () => {
    await conversation('conv_old', 0);
    await response('resp_old', 0);
    await start({}).close();
    assert.deepEqual(await left(), { conversations: ['conv_old'], responses: ['resp_old'] });
    start({ responsesDays: 1 });
    await leftIs(['conv_old'], []);
  });

  it('goes on until nothing is left that is too old', async () => {
    for (let at = 0; at < 130; at++) await response(`resp_${at}`, at);
    start({ responsesDays: 1 });
    await leftIs([], []);
  });

  it('leaves a conversation that is being answered', async () => {
    await conversation('conv_busy', 0);
    await store.conversations.takeTurn(PLACE, 'conv_busy', { turn: 'resp_1', until: START + 1, now: START });
    await conversation('conv_idle', 0);
    start({ conversationsDays: 1 });
    await lookIsOver();
    assert.deepEqual(await left(), { conversations: ['conv_busy'], responses: [] });
  });

  it('leaves a conversation that was changed after it was found too old', async () => {
    await conversation('conv_changed', 0);
    await conversation('conv_old', 1);
    const listUnchanged: Store['conversations']['listUnchanged'] = async (wish) => {
      const found = await store.conversations.listUnchanged(wish);
      await store.conversations.setMetadata(PLACE, 'conv_changed', new Map(), START);
      return found;
    };
    start({ conversationsDays: 1 }, { ...store, conversations: { ...store.conversations, listUnchanged } });
    await lookIsOver();
    assert.deepEqual(await left(), { conversations: ['conv_changed'], responses: [] });
  });

  it('looks once at a time', async () => {
    let lists = 0;
    let go: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const listOlder: Store['responses']['listOlder'] = async () => {
      lists += 1;
      await held;
      return [];
    };
    const looking = start({ responsesDays: 1 }, { ...store, responses: { ...store.responses, listOlder } });
    for (const look of [...looks, ...looks]) look();
    const begun = lists;
    go?.();
    await looking.close();
    assert.equal(begun, 1);
  });

  it('has ended when it is closed, between two removals', async () => {
    for (let at = 0; at < 20; at++) await response(`resp_${at}`, at);
    await start({ responsesDays: 1 }).close();
    assert.ok((await left()).responses.length > 10);
  });

  it('says so when the store fails, and tries again at the next look', async () => {
    await response('resp_old', 0);
    let isBroken = true;
    const listOlder: Store['responses']['listOlder'] = (wish) =>
      isBroken ? Promise.reject(new Error('disk')) : store.responses.listOlder(wish);
    start({ responsesDays: 1 }, { ...store, responses: { ...store.responses, listOlder } });
    await until('the failure is told', async () => said.length > 0);
    assert.deepEqual(said, ['what has passed its age could not be removed']);
    isBroken = false;
    await until('the next look removes it', async () => {
      for (const look of looks) look();
      return (await left()).responses.length === 0;
    });
  });
});
