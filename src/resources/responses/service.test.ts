import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Item } from '../../core/item.ts';
import {
  HISTORY_BYTES_MAX,
  HISTORY_ITEMS_MAX,
  HISTORY_LINKS_MAX,
  REFERENCED_ITEM_BYTES_MAX,
  CONVERSATION_LEASE_MS,
  CONVERSATION_LEASE_RENEW_MS,
} from './limits.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import type { Conversations } from '../conversations/conversation.ts';
import { createConversations } from '../conversations/service.ts';
import type { Responses, TurnResult, TurnRequest } from './response.ts';
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
/** Interval callbacks that renew the leases of running turns. */
let timers: Set<() => void>;

const every = (_ms: number, run: () => void) => {
  timers.add(run);
  return () => timers.delete(run);
};

/** Advances the clock and waits until the leases are renewed in the store. */
async function advanceClock(ms: number): Promise<void> {
  for (const end = nowMs + ms; nowMs < end;) {
    nowMs = Math.min(end, nowMs + CONVERSATION_LEASE_RENEW_MS);
    for (const run of timers) run();
    await store.keys.list({ limit: 1 }); // one connection: it answers in order
  }
}

beforeEach(async () => {
  nowMs = START;
  timers = new Set();
  store = await openTestStore();
  conversations = createConversations({ store, clock });
  responses = createResponses({ store, clock, startInterval: every });
});
afterEach(async () => {
  assert.equal(timers.size, 0, 'a lease is still being renewed');
  await store.close();
});

const item = (id: string, text = ''): Item => ({ id, json: JSON.stringify({ id, text }) });
const items = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => item(`${prefix}${at}`));
const ids = (list: readonly Item[]) => list.map(({ id }) => id);
const createResult = (name: string, change: Partial<TurnResult> = {}): TurnResult => ({
  json: `{"id":"${name}"}`,
  input: [item(`${name}_in`)],
  output: [item(`${name}_out`)],
  isStored: true,
  ...change,
});
const newConversation = async (...first: readonly Item[]) =>
  (await conversations.create(OWNER, { items: first, metadata: new Map() })).id;
const listIds = async (id: string) =>
  ids((await conversations.listItems(OWNER, id, { limit: 100, order: 'asc' })).items);

/** Runs a complete turn. @returns the ids of the history that it started with. */
async function runTurn(request: TurnRequest, change: Partial<TurnResult> = {}): Promise<readonly string[]> {
  const turn = await responses.startTurn(OWNER, request);
  await turn.complete(createResult(request.id, change));
  return ids(turn.history);
}

describe('turn in a conversation', () => {
  it('starts with the history and appends its items and response', async () => {
    const conversation = await newConversation(item('msg_1'));
    assert.deepEqual(await runTurn({ id: 'resp_1', conversation }), ['msg_1']);
    assert.deepEqual(await runTurn({ id: 'resp_2', conversation }), ['msg_1', 'resp_1_in', 'resp_1_out']);
    assert.deepEqual(await listIds(conversation), ['msg_1', 'resp_1_in', 'resp_1_out', 'resp_2_in', 'resp_2_out']);
    assert.deepEqual(await responses.find(OWNER, 'resp_2'), { id: 'resp_2', json: '{"id":"resp_2"}' });
    const { items: input } = await responses.listInput(OWNER, 'resp_2', { limit: 9, order: 'desc' });
    assert.deepEqual(input, [item('resp_2_in')]);
  });

  it('appends its items without a response that is not to be stored', async () => {
    const conversation = await newConversation();
    await runTurn({ id: 'resp_1', conversation }, { isStored: false });
    assert.deepEqual(await listIds(conversation), ['resp_1_in', 'resp_1_out']);
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
  });

  it('stores nothing when abandoned, and unlocks the conversation at once', async () => {
    const conversation = await newConversation(item('msg_1'));
    const turn = await responses.startTurn(OWNER, { id: 'resp_1', conversation });
    await turn.abandon();
    await turn.abandon();
    assert.deepEqual(await listIds(conversation), ['msg_1']);
    assert.deepEqual(await runTurn({ id: 'resp_2', conversation }), ['msg_1']);
  });

  it('locks the conversation while its lease is renewed', async () => {
    const conversation = await newConversation();
    const turn = await responses.startTurn(OWNER, { id: 'resp_1', conversation });
    const refused = { kind: 'locked', param: 'conversation', retryAfterSeconds: 5 };
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_2', conversation }), refused);
    await advanceClock(10 * CONVERSATION_LEASE_MS);
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_2', conversation }), refused);
    assert.deepEqual(await responses.readHistory(OWNER, { conversation }), { history: [], olderItems: 0 });
    await turn.complete(createResult('resp_1'));
    assert.deepEqual(await runTurn({ id: 'resp_2', conversation }), ['resp_1_in', 'resp_1_out']);
  });

  it('locks the conversation for one of several concurrent turns', async () => {
    const conversation = await newConversation();
    const tries = await Promise.allSettled(
      items('resp_', 5).map(({ id }) => responses.startTurn(OWNER, { id, conversation })),
    );
    const started = tries.filter((each) => each.status === 'fulfilled');
    assert.equal(started.length, 1);
    await started[0]?.value.abandon();
  });

  it('loses the conversation when its lease expires, and then stores nothing', async () => {
    const conversation = await newConversation();
    const dead = await responses.startTurn(OWNER, { id: 'resp_dead', conversation });
    timers.clear();
    nowMs += CONVERSATION_LEASE_MS - 1;
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_2', conversation }), { kind: 'locked' });
    nowMs += 1;
    const next = await responses.startTurn(OWNER, { id: 'resp_2', conversation });
    await assert.rejects(dead.complete(createResult('resp_dead')), { kind: 'conflict', param: 'conversation' });
    await assert.rejects(responses.find(OWNER, 'resp_dead'), { kind: 'not-found' });
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_3', conversation }), { kind: 'locked' });
    await next.complete(createResult('resp_2'));
    assert.deepEqual(await listIds(conversation), ['resp_2_in', 'resp_2_out']);
  });

  it('may complete after its lease expired if no other turn started', async () => {
    const conversation = await newConversation();
    const late = await responses.startTurn(OWNER, { id: 'resp_1', conversation });
    timers.clear();
    nowMs += 10 * CONVERSATION_LEASE_MS;
    await late.complete(createResult('resp_1'));
    assert.deepEqual(await listIds(conversation), ['resp_1_in', 'resp_1_out']);
  });

  it('appends after items that were added meanwhile', async () => {
    const conversation = await newConversation(item('msg_1'));
    const turn = await responses.startTurn(OWNER, { id: 'resp_1', conversation });
    await conversations.addItems(OWNER, conversation, [item('msg_2')]);
    await conversations.deleteItem(OWNER, conversation, 'msg_1');
    await conversations.update(OWNER, conversation, new Map([['a', '1']]));
    await turn.complete(createResult('resp_1'));
    assert.deepEqual(await listIds(conversation), ['msg_2', 'resp_1_in', 'resp_1_out']);
  });

  it('stores only its response if the conversation is deleted meanwhile', async () => {
    const conversation = await newConversation(item('msg_1'));
    const turn = await responses.startTurn(OWNER, { id: 'resp_1', conversation });
    await conversations.delete(OWNER, conversation);
    await turn.complete(createResult('resp_1'));
    assert.equal((await responses.find(OWNER, 'resp_1')).id, 'resp_1');
    await assert.rejects(conversations.find(OWNER, conversation), { kind: 'not-found' });
    assert.deepEqual(await runTurn({ id: 'resp_2', previous: 'resp_1' }), ['resp_1_in', 'resp_1_out']);
  });

  it('stores everything or nothing, and unlocks the conversation on failure', async () => {
    const conversation = await newConversation();
    const turn = await responses.startTurn(OWNER, { id: 'resp_1', conversation });
    const twice = { input: [item('msg_same')], output: [item('msg_same')] };
    await assert.rejects(turn.complete(createResult('resp_1', twice)), { kind: 'internal' });
    assert.deepEqual(await listIds(conversation), []);
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
    assert.deepEqual(await runTurn({ id: 'resp_2', conversation }), []);
  });

  it('is abandoned without an error while the store fails', async () => {
    const conversation = await newConversation();
    const fails = { ...store.conversations, releaseTurnLease: () => Promise.reject(new Error('disk')) };
    const failing = createResponses({ store: { ...store, conversations: fails }, clock, startInterval: every });
    await (await failing.startTurn(OWNER, { id: 'resp_1', conversation })).abandon();
    nowMs += CONVERSATION_LEASE_MS;
    assert.deepEqual(await runTurn({ id: 'resp_2', conversation }), []);
  });

  it('refuses to start in an unknown conversation', async () => {
    const conversation = await newConversation();
    for (const owner of STRANGERS) {
      const gone = { kind: 'not-found', message: `Conversation with id '${conversation}' not found.` };
      await assert.rejects(responses.startTurn(owner, { id: 'resp_1', conversation }), gone);
      await assert.rejects(responses.readHistory(owner, { conversation }), gone);
    }
    assert.deepEqual(await runTurn({ id: 'resp_1', conversation }), []);
  });

  it('reads the newest items that a prompt could hold and counts older ones', async () => {
    const conversation = await newConversation();
    const many = items('msg_', HISTORY_ITEMS_MAX + 3);
    await runTurn({ id: 'resp_1', conversation }, { input: many, output: [], isStored: false });
    const { history, olderItems } = await responses.readHistory(OWNER, { conversation });
    assert.deepEqual([history.length, history[0]?.id, olderItems], [HISTORY_ITEMS_MAX, 'msg_3', 3]);
  });
});

describe('response chain', () => {
  it('starts with the input and output of all responses', async () => {
    assert.deepEqual(await runTurn({ id: 'resp_1' }), []);
    assert.deepEqual(await runTurn({ id: 'resp_2', previous: 'resp_1' }), ['resp_1_in', 'resp_1_out']);
    const three = ['resp_1_in', 'resp_1_out', 'resp_2_in', 'resp_2_out'];
    assert.deepEqual(await runTurn({ id: 'resp_3', previous: 'resp_2' }), three);
    // Two responses that continue the same one do not contain each other.
    assert.deepEqual(await runTurn({ id: 'resp_2b', previous: 'resp_1' }), ['resp_1_in', 'resp_1_out']);
    assert.deepEqual(ids((await responses.readHistory(OWNER, { previous: 'resp_3' })).history), [
      ...three,
      'resp_3_in',
      'resp_3_out',
    ]);
  });

  it('continues into the conversation of its first response, up to that response', async () => {
    const conversation = await newConversation(item('msg_1'));
    await runTurn({ id: 'resp_1', conversation });
    await runTurn({ id: 'resp_later', conversation });
    const before = ['msg_1', 'resp_1_in', 'resp_1_out'];
    assert.deepEqual(await runTurn({ id: 'resp_2', previous: 'resp_1' }), before);
    await conversations.delete(OWNER, conversation);
    assert.deepEqual(await runTurn({ id: 'resp_3', previous: 'resp_2' }), [
      ...before.slice(1),
      'resp_2_in',
      'resp_2_out',
    ]);
  });

  it('is refused with the id of a missing response', async () => {
    for (const [id, previous] of [
      ['resp_1', undefined],
      ['resp_2', 'resp_1'],
      ['resp_3', 'resp_2'],
    ] as const) {
      await runTurn({ id, previous });
    }
    const gone = (id: string) => ({ kind: 'not-found', message: `Response with id '${id}' not found.` });
    for (const owner of STRANGERS) {
      await assert.rejects(responses.startTurn(owner, { id: 'resp_4', previous: 'resp_3' }), gone('resp_3'));
    }
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_4', previous: 'resp_3' }), gone('resp_1'));
    await assert.rejects(responses.readHistory(OWNER, { previous: 'resp_9' }), gone('resp_9'));
    await runTurn({ id: 'resp_hidden' }, { isStored: false });
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_4', previous: 'resp_hidden' }), gone('resp_hidden'));
  });

  for (const [name, size] of [
    ['as a whole', 0],
    ['in part', HISTORY_BYTES_MAX],
  ] as const) {
    it(`is refused if a response is deleted while it is read ${name}`, async () => {
      await runTurn({ id: 'resp_1' }, { input: [item('first', 'x'.repeat(size))] });
      await runTurn({ id: 'resp_2', previous: 'resp_1' });
      const all: Store['items']['listAll'] = async (...of) => {
        await responses.delete(OWNER, 'resp_1');
        return store.items.listAll(...of);
      };
      const reader = createResponses({
        store: { ...store, items: { ...store.items, listAll: all } },
        clock,
        startInterval: every,
      });
      await assert.rejects(reader.startTurn(OWNER, { id: 'resp_3', previous: 'resp_2' }), {
        kind: 'not-found',
        message: "Response with id 'resp_1' not found.",
      });
    });
  }

  it('may be longer than HISTORY_LINKS_MAX', async () => {
    const endless = Array.from({ length: HISTORY_LINKS_MAX }, (_, at) => ({
      ...OWNER,
      id: `resp_${at}`,
      createdAt: START,
      previous: `resp_${at + 1}`,
      itemCount: 0,
      itemBytes: 0,
    }));
    const createChain = (links: typeof endless) =>
      createResponses({ store: { ...store, responses: { ...store.responses, listChain: async () => links } }, clock });
    assert.deepEqual(ids((await createChain(endless).readHistory(OWNER, { previous: 'resp_0' })).history), []);
    const gap = { kind: 'not-found', message: `Response with id 'resp_${HISTORY_LINKS_MAX - 1}' not found.` };
    await assert.rejects(createChain(endless.slice(0, -1)).readHistory(OWNER, { previous: 'resp_0' }), gap);
  });

  it('stores the number and size of the items of each response', async () => {
    await runTurn({ id: 'resp_1' }, { input: items('msg_a', 2), output: [item('msg_b', 'ü')] });
    const { itemCount, itemBytes } = (await store.responses.find(OWNER, 'resp_1')) ?? assert.fail();
    const bytes = [...items('msg_a', 2), item('msg_b', 'ü')].reduce(
      (sum, { json }) => sum + Buffer.byteLength(json),
      0,
    );
    assert.deepEqual([itemCount, itemBytes], [3, bytes]);
  });

  it('is read from the newest item backwards, even in the middle of a response', async () => {
    const large = (name: string) => item(name, 'x'.repeat(HISTORY_BYTES_MAX / 4));
    const conversation = await newConversation(item('msg_1'), item('msg_2'));
    await runTurn({ id: 'resp_1', conversation }, { input: items('msg_a', 4), output: [] });
    await runTurn({ id: 'resp_2', previous: 'resp_1' }, { input: [large('msg_b'), large('msg_c')], output: [] });
    await runTurn({ id: 'resp_3', previous: 'resp_2' }, { input: [large('msg_d')], output: [large('msg_e')] });
    const { history, olderItems } = await responses.readHistory(OWNER, { previous: 'resp_3' });
    assert.deepEqual(ids(history), ['msg_c', 'msg_d', 'msg_e']);
    assert.equal(olderItems, 1 + 4 + 2);
  });
});

describe('stored response', () => {
  it('is deleted with its items, while the conversation keeps its items', async () => {
    const conversation = await newConversation();
    await runTurn({ id: 'resp_1', conversation });
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
    await assert.rejects(responses.delete(OWNER, 'resp_1'), { kind: 'not-found' });
    assert.deepEqual(await listIds(conversation), ['resp_1_in', 'resp_1_out']);
    assert.equal(await store.items.find({ ...OWNER, container: 'resp_1' }, 'resp_1_in'), undefined);
  });

  it('is not found by other workspaces and regions, nor are its items', async () => {
    await runTurn({ id: 'resp_1' });
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

  it('finds items up to the size limit and counts repeated ids repeatedly', async () => {
    const { json } = item('big');
    const big = item('big', 'x'.repeat(REFERENCED_ITEM_BYTES_MAX / 2 - json.length));
    await runTurn({ id: 'resp_1' }, { input: [big], output: [item('small')] });
    const found = await responses.findItems(OWNER, ['big', 'big', 'msg_nobody']);
    assert.deepEqual([...found.keys()], ['big']);
    await assert.rejects(responses.findItems(OWNER, ['big', 'small', 'big']), { kind: 'too-large' });
  });

  it('lists only its input items', async () => {
    await runTurn({ id: 'resp_1' }, { input: items('msg_', 3) });
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
