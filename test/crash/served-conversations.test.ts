import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TURN_LEASE_MS } from '../../src/core/limits.ts';
import { until } from '../until.ts';
import { createServed, READY_MS_MAX, send } from './served.ts';
import type { Served, Server } from './served.ts';

const KILLS = 4;
const CALLERS = 3;
/** A caller has this many calls answered at most before the server is killed. */
const CALLS_MAX = 12;

/** What one caller did to its conversation, one call after another; the last of them may have got no answer. */
interface Caller {
  readonly conversation: string;
  readonly calls: { readonly texts: readonly string[]; isAnswered: boolean; response?: string }[];
}

describe('a whole server that is killed', () => {
  let data = '';
  let served: Served;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    served = createServed({ data, env: { PARLEY_ENGINE_KIND: 'scripted' } });
  });
  after(async () => {
    await served?.end('SIGKILL');
    await rm(data, { recursive: true });
  });

  const ask = async (server: Server, method: string, path: string, body?: object) => {
    const answer = await send(server, method, `/v1${path}`, body);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  const create = async (server: Server): Promise<Caller> => {
    const { body } = await ask(server, 'POST', '/conversations', {});
    return { conversation: String(body['id']), calls: [] };
  };

  /** Adds items and asks for answers by turns, until the server is gone. */
  async function work(server: Server, { conversation, calls }: Caller, answered: () => void): Promise<void> {
    for (let at = 0; ; at++) {
      const name = `${conversation.slice(-4)}-${at}`;
      const asked = `script:["answer ","${name}"]`;
      const isTurn = at % 2 === 1;
      const texts = isTurn ? [asked, `answer ${name}`] : [`${name} a`, `${name} b`];
      const call: Caller['calls'][number] = { texts, isAnswered: false };
      calls.push(call);
      const path = isTurn ? '/responses' : `/conversations/${conversation}/items`;
      const items = texts.map((content) => ({ role: 'user', content }));
      const body = isTurn ? { model: 'svc-plus', input: asked, conversation } : { items };
      const answer = await ask(server, 'POST', path, body).catch(() => undefined);
      if (!answer) return;
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      call.isAnswered = true;
      if (isTurn) call.response = String(answer.body['id']);
      answered();
    }
  }

  const textsOf = async (server: Server, conversation: string): Promise<readonly string[]> => {
    const { body } = await ask(server, 'GET', `/conversations/${conversation}/items?order=asc&limit=100`);
    const items = body['data'] as readonly { readonly content: readonly { readonly text: string }[] }[];
    return items.map(({ content }) => content.map(({ text }) => text).join(''));
  };

  it('has every call that was answered, the one that was not whole or not at all, and answers on', async () => {
    let server = await served.start();
    for (let round = 0; round < KILLS; round++) {
      const callers = await Promise.all(Array.from({ length: CALLERS }, () => create(server)));
      let left = 1 + Math.floor(Math.random() * CALLS_MAX);
      const { child } = server;
      const answered = (): void => {
        left -= 1;
        if (left === 0) child.kill('SIGKILL');
      };
      await Promise.all(callers.map((caller) => work(server, caller, answered)));
      await served.end('SIGKILL');
      server = await served.start();
      for (const { conversation, calls } of callers) {
        const whole = calls.flatMap(({ texts }) => texts);
        const sure = calls.filter(({ isAnswered }) => isAnswered).flatMap(({ texts }) => texts);
        const texts = await textsOf(server, conversation);
        assert.ok([sure.length, whole.length].includes(texts.length), `half of a call: ${texts.join(', ')}`);
        assert.deepEqual(texts, whole.slice(0, texts.length));
        for (const { response } of calls) {
          if (response !== undefined) assert.equal((await ask(server, 'GET', `/responses/${response}`)).status, 200);
        }
      }
    }
    const { conversation } = await create(server);
    const say = (script: string) =>
      ask(server, 'POST', '/responses', { model: 'svc-plus', conversation, input: `script:${script}` });
    const long = {
      model: 'svc-plus',
      conversation,
      stream: true,
      input: 'script:[{"repeat":"w ","times":100000,"perTick":1}]',
    };
    // Its head comes with its first event: it has the conversation then.
    const cut = await send(server, 'POST', '/v1/responses', long);
    assert.equal((await say('["x"]')).status, 409);
    const before = await textsOf(server, conversation);
    await served.end('SIGKILL');
    await assert.rejects(cut.text());
    server = await served.start();
    const answer = await until('it is free again', { withinMs: READY_MS_MAX + TURN_LEASE_MS }, async () => {
      const { status, body } = await say('["on"]');
      assert.ok([200, 409].includes(status), JSON.stringify(body));
      return status === 200 ? body : undefined;
    });
    assert.equal(answer['status'], 'completed');
    assert.deepEqual(await textsOf(server, conversation), [...before, 'script:["on"]', 'on']);
  });
});
