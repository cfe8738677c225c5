import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Item } from '../../core/item.ts';
import { HISTORY_BYTES_MAX, HISTORY_ITEMS_MAX, TURN_LEASE_MS, TURN_RENEW_MS } from '../../core/limits.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import type { Conversations } from '../conversations/conversation.ts';
import { createConversations } from '../conversations/service.ts';
import type { Responses, TurnRecord, TurnWish } from './response.ts';
import { createResponses } from './service.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let conversations: Conversations;
let responses: Responses;
/** What is called again and again: signs of life of running turns. */
let timers: Set<() => void>;

const every = (_ms: number, run: () => void) => {
  timers.add(run);
  return () => timers.delete(run);
};

/** Lets time pass with its signs of life; those have been said to the store when it ends. */
async function pass(ms: number): Promise<void> {
  for (const end = nowMs + ms; nowMs < end;) {
    nowMs = Math.min(end, nowMs + TURN_RENEW_MS);
    for (const run of timers) run();
    await store.keys.list({ limit: 1 }); // one connection: it answers in order
  }
}

beforeEach(async () => {
  nowMs = START;
  timers = new Set();
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
  conversations = createConversations({ store, clock });
  responses = createResponses({ store, clock, every });
});
afterEach(async () => {
  assert.equal(timers.size, 0, 'a turn goes on giving signs of life');
  await store.close();
});

const item = (id: string, text = ''): Item => ({ id, json: JSON.stringify({ id, text }) });
const items = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => item(`${prefix}${at}`));
const ids = (list: readonly Item[]) => list.map(({ id }) => id);
const record = (name: string, change: Partial<TurnRecord> = {}): TurnRecord => ({
  json: `{"id":"${name}"}`,
  input: [item(`${name}_in`)],
  output: [item(`${name}_out`)],
  isStored: true,
  ...change,
});
const newConversation = async (...first: readonly Item[]) =>
  (await conversations.create(OWNER, { items: first, metadata: new Map() })).id;
const listed = async (id: string) =>
  ids((await conversations.listItems(OWNER, id, { limit: 100, order: 'asc' })).items);

/** A whole turn; what it began with. */
async function turn(wish: TurnWish, change: Partial<TurnRecord> = {}): Promise<readonly string[]> {
  const begun = await responses.begin(OWNER, wish);
  await begun.complete(record(wish.id, change));
  return ids(begun.history);
}

describe('a turn in a conversation', () => {
  it('begins with what was said, and is appended with its response', async () => {
    const conversation = await newConversation(item('msg_1'));
    assert.deepEqual(await turn({ id: 'resp_1', conversation }), ['msg_1']);
    assert.deepEqual(await turn({ id: 'resp_2', conversation }), ['msg_1', 'resp_1_in', 'resp_1_out']);
    assert.deepEqual(await listed(conversation), ['msg_1', 'resp_1_in', 'resp_1_out', 'resp_2_in', 'resp_2_out']);
    assert.deepEqual(await responses.find(OWNER, 'resp_2'), { id: 'resp_2', json: '{"id":"resp_2"}' });
    const { items: input } = await responses.listInput(OWNER, 'resp_2', { limit: 9, order: 'desc' });
    assert.deepEqual(input, [item('resp_2_in')]);
  });

  it('is appended without a response where that is not to be stored', async () => {
    const conversation = await newConversation();
    await turn({ id: 'resp_1', conversation }, { isStored: false });
    assert.deepEqual(await listed(conversation), ['resp_1_in', 'resp_1_out']);
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
  });

  it('leaves nothing behind when it is given up, and lets the conversation go at once', async () => {
    const conversation = await newConversation(item('msg_1'));
    const begun = await responses.begin(OWNER, { id: 'resp_1', conversation });
    await begun.abandon();
    await begun.abandon();
    assert.deepEqual(await listed(conversation), ['msg_1']);
    assert.deepEqual(await turn({ id: 'resp_2', conversation }), ['msg_1']);
  });

  it('is the only one, for as long as it gives signs of life', async () => {
    const conversation = await newConversation();
    const begun = await responses.begin(OWNER, { id: 'resp_1', conversation });
    const refused = { kind: 'locked', param: 'conversation', retryAfterSeconds: 5 };
    await assert.rejects(responses.begin(OWNER, { id: 'resp_2', conversation }), refused);
    await pass(10 * TURN_LEASE_MS);
    await assert.rejects(responses.begin(OWNER, { id: 'resp_2', conversation }), refused);
    assert.deepEqual(await responses.history(OWNER, { conversation }), { history: [], olderItems: 0 });
    await begun.complete(record('resp_1'));
    assert.deepEqual(await turn({ id: 'resp_2', conversation }), ['resp_1_in', 'resp_1_out']);
  });

  it('of several that begin at once, one has the conversation', async () => {
    const conversation = await newConversation();
    const tries = await Promise.allSettled(
      items('resp_', 5).map(({ id }) => responses.begin(OWNER, { id, conversation })),
    );
    const begun = tries.filter((each) => each.status === 'fulfilled');
    assert.equal(begun.length, 1);
    await begun[0]?.value.abandon();
  });

  it('is followed by the next when it is silent for too long, and keeps nothing when it comes back', async () => {
    const conversation = await newConversation();
    const dead = await responses.begin(OWNER, { id: 'resp_dead', conversation });
    timers.clear();
    nowMs += TURN_LEASE_MS - 1;
    await assert.rejects(responses.begin(OWNER, { id: 'resp_2', conversation }), { kind: 'locked' });
    nowMs += 1;
    const next = await responses.begin(OWNER, { id: 'resp_2', conversation });
    await assert.rejects(dead.complete(record('resp_dead')), { kind: 'conflict', param: 'conversation' });
    await assert.rejects(responses.find(OWNER, 'resp_dead'), { kind: 'not-found' });
    await assert.rejects(responses.begin(OWNER, { id: 'resp_3', conversation }), { kind: 'locked' });
    await next.complete(record('resp_2'));
    assert.deepEqual(await listed(conversation), ['resp_2_in', 'resp_2_out']);
  });

  it('may end late where nobody took its place', async () => {
    const conversation = await newConversation();
    const late = await responses.begin(OWNER, { id: 'resp_1', conversation });
    timers.clear();
    nowMs += 10 * TURN_LEASE_MS;
    await late.complete(record('resp_1'));
    assert.deepEqual(await listed(conversation), ['resp_1_in', 'resp_1_out']);
  });

  it('lets others change the conversation, and stands behind what they added', async () => {
    const conversation = await newConversation(item('msg_1'));
    const begun = await responses.begin(OWNER, { id: 'resp_1', conversation });
    await conversations.addItems(OWNER, conversation, [item('msg_2')]);
    await conversations.deleteItem(OWNER, conversation, 'msg_1');
    await conversations.update(OWNER, conversation, new Map([['a', '1']]));
    await begun.complete(record('resp_1'));
    assert.deepEqual(await listed(conversation), ['msg_2', 'resp_1_in', 'resp_1_out']);
  });

  it('keeps its response only, when the conversation is deleted meanwhile', async () => {
    const conversation = await newConversation(item('msg_1'));
    const begun = await responses.begin(OWNER, { id: 'resp_1', conversation });
    await conversations.delete(OWNER, conversation);
    await begun.complete(record('resp_1'));
    assert.equal((await responses.find(OWNER, 'resp_1')).id, 'resp_1');
    await assert.rejects(conversations.find(OWNER, conversation), { kind: 'not-found' });
    assert.deepEqual(await turn({ id: 'resp_2', previous: 'resp_1' }), ['resp_1_in', 'resp_1_out']);
  });

  it('keeps all of itself or nothing, and lets the conversation go where it cannot be kept', async () => {
    const conversation = await newConversation();
    const begun = await responses.begin(OWNER, { id: 'resp_1', conversation });
    const twice = { input: [item('msg_same')], output: [item('msg_same')] };
    await assert.rejects(begun.complete(record('resp_1', twice)), { kind: 'internal' });
    assert.deepEqual(await listed(conversation), []);
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
    assert.deepEqual(await turn({ id: 'resp_2', conversation }), []);
  });

  it('does not begin where there is no such conversation', async () => {
    const conversation = await newConversation();
    for (const owner of STRANGERS) {
      const gone = { kind: 'not-found', message: `Conversation with id '${conversation}' not found.` };
      await assert.rejects(responses.begin(owner, { id: 'resp_1', conversation }), gone);
      await assert.rejects(responses.history(owner, { conversation }), gone);
    }
    assert.deepEqual(await turn({ id: 'resp_1', conversation }), []);
  });

  it('reads the newest items that a prompt could hold, and counts the others', async () => {
    const conversation = await newConversation();
    const many = items('msg_', HISTORY_ITEMS_MAX + 3);
    await turn({ id: 'resp_1', conversation }, { input: many, output: [], isStored: false });
    const { history, olderItems } = await responses.history(OWNER, { conversation });
    assert.deepEqual([history.length, history[0]?.id, olderItems], [HISTORY_ITEMS_MAX, 'msg_3', 3]);
  });
});

describe('a chain of responses', () => {
  it('begins with what all of them were asked and said', async () => {
    assert.deepEqual(await turn({ id: 'resp_1' }), []);
    assert.deepEqual(await turn({ id: 'resp_2', previous: 'resp_1' }), ['resp_1_in', 'resp_1_out']);
    const three = ['resp_1_in', 'resp_1_out', 'resp_2_in', 'resp_2_out'];
    assert.deepEqual(await turn({ id: 'resp_3', previous: 'resp_2' }), three);
    // Two that go on from the same one do not see each other.
    assert.deepEqual(await turn({ id: 'resp_2b', previous: 'resp_1' }), ['resp_1_in', 'resp_1_out']);
    assert.deepEqual(ids((await responses.history(OWNER, { previous: 'resp_3' })).history), [
      ...three,
      'resp_3_in',
      'resp_3_out',
    ]);
  });

  it('goes back into the conversation that its first one was made in, up to there', async () => {
    const conversation = await newConversation(item('msg_1'));
    await turn({ id: 'resp_1', conversation });
    await turn({ id: 'resp_later', conversation });
    const before = ['msg_1', 'resp_1_in', 'resp_1_out'];
    assert.deepEqual(await turn({ id: 'resp_2', previous: 'resp_1' }), before);
    await conversations.delete(OWNER, conversation);
    assert.deepEqual(await turn({ id: 'resp_3', previous: 'resp_2' }), [...before.slice(1), 'resp_2_in', 'resp_2_out']);
  });

  it('is refused by the name of what is missing in it', async () => {
    for (const [id, previous] of [
      ['resp_1', undefined],
      ['resp_2', 'resp_1'],
      ['resp_3', 'resp_2'],
    ] as const) {
      await turn({ id, previous });
    }
    const gone = (id: string) => ({ kind: 'not-found', message: `Response with id '${id}' not found.` });
    for (const owner of STRANGERS) {
      await assert.rejects(responses.begin(owner, { id: 'resp_4', previous: 'resp_3' }), gone('resp_3'));
    }
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(responses.begin(OWNER, { id: 'resp_4', previous: 'resp_3' }), gone('resp_1'));
    await assert.rejects(responses.history(OWNER, { previous: 'resp_9' }), gone('resp_9'));
    await turn({ id: 'resp_hidden' }, { isStored: false });
    await assert.rejects(responses.begin(OWNER, { id: 'resp_4', previous: 'resp_hidden' }), gone('resp_hidden'));
  });

  it('is read from the newest backwards, through the middle of a response where the room ends', async () => {
    const large = (name: string) => item(name, 'x'.repeat(HISTORY_BYTES_MAX / 4));
    const conversation = await newConversation(item('msg_1'), item('msg_2'));
    await turn({ id: 'resp_1', conversation }, { input: items('msg_a', 4), output: [] });
    await turn({ id: 'resp_2', previous: 'resp_1' }, { input: [large('msg_b'), large('msg_c')], output: [] });
    await turn({ id: 'resp_3', previous: 'resp_2' }, { input: [large('msg_d')], output: [large('msg_e')] });
    const { history, olderItems } = await responses.history(OWNER, { previous: 'resp_3' });
    assert.deepEqual(ids(history), ['msg_c', 'msg_d', 'msg_e']);
    assert.equal(olderItems, 1 + 4 + 2);
  });
});

describe('a stored response', () => {
  it('is deleted with its items, while its conversation keeps its own', async () => {
    const conversation = await newConversation();
    await turn({ id: 'resp_1', conversation });
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
    await assert.rejects(responses.delete(OWNER, 'resp_1'), { kind: 'not-found' });
    assert.deepEqual(await listed(conversation), ['resp_1_in', 'resp_1_out']);
    assert.equal(await store.items.find({ ...OWNER, container: 'resp_1' }, 'resp_1_in'), undefined);
  });

  it('is not there for anybody else, and nor are its items', async () => {
    await turn({ id: 'resp_1' });
    const gone = { kind: 'not-found', message: "Response with id 'resp_1' not found." };
    for (const stranger of STRANGERS) {
      await assert.rejects(responses.find(stranger, 'resp_1'), gone);
      await assert.rejects(responses.delete(stranger, 'resp_1'), gone);
      await assert.rejects(responses.listInput(stranger, 'resp_1', { limit: 9, order: 'asc' }), gone);
      assert.deepEqual(await responses.findItems(stranger, ['resp_1_in']), new Map());
    }
    const found = await responses.findItems(OWNER, ['resp_1_out', 'resp_1_in', 'msg_nobody']);
    assert.deepEqual([...found.keys()].toSorted(), ['resp_1_in', 'resp_1_out']);
  });

  it('lists its input alone', async () => {
    await turn({ id: 'resp_1' }, { input: items('msg_', 3) });
    const page = await responses.listInput(OWNER, 'resp_1', { limit: 2, order: 'asc' });
    assert.deepEqual([ids(page.items), page.hasMore], [['msg_0', 'msg_1'], true]);
    const rest = await responses.listInput(OWNER, 'resp_1', { limit: 2, order: 'asc', after: 'msg_1' });
    assert.deepEqual([ids(rest.items), rest.hasMore], [['msg_2'], false]);
    await assert.rejects(responses.listInput(OWNER, 'resp_1', { limit: 2, order: 'asc', after: 'resp_1_out' }), {
      kind: 'invalid-request',
      param: 'after',
    });
  });
});
