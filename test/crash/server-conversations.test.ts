import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CONVERSATION_LEASE_MS } from '../../src/resources/responses/limits.ts';
import { until } from '../until.ts';
import { createRestartableServer, READY_MS_MAX, send } from './restartable-server.ts';
import type { RestartableServer, RunningServer } from './restartable-server.ts';

const KILLS = 4;
const CALLERS = 3;
/** Highest number of answered calls before the server is killed. */
const CALLS_MAX = 12;

/** Calls of one client to its conversation, in order. The last call may have no response. */
interface CallerLog {
  readonly conversation: string;
  readonly calls: { readonly texts: readonly string[]; isAnswered: boolean; response?: string }[];
}

describe('conversations of a server that is killed', () => {
  let data = '';
  let testServer: RestartableServer;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    testServer = createRestartableServer({ data, env: { PARLEY_ENGINE_KIND: 'scripted' } });
  });
  after(async () => {
    await testServer?.stop('SIGKILL');
    await rm(data, { recursive: true });
  });

  const sendRequest = async (server: RunningServer, method: string, path: string, body?: object) => {
    const answer = await send(server, method, `/v1${path}`, body);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  const createCaller = async (server: RunningServer): Promise<CallerLog> => {
    const { body } = await sendRequest(server, 'POST', '/conversations', {});
    return { conversation: String(body['id']), calls: [] };
  };

  /** Adds items and requests answers alternately, until the server is gone. */
  async function sendCalls(
    server: RunningServer,
    { conversation, calls }: CallerLog,
    onResponse: () => void,
  ): Promise<void> {
    for (let at = 0; ; at++) {
      const name = `${conversation.slice(-4)}-${at}`;
      const scriptText = `script:["answer ","${name}"]`;
      const isTurn = at % 2 === 1;
      const texts = isTurn ? [scriptText, `answer ${name}`] : [`${name} a`, `${name} b`];
      const call: CallerLog['calls'][number] = { texts, isAnswered: false };
      calls.push(call);
      const path = isTurn ? '/responses' : `/conversations/${conversation}/items`;
      const items = texts.map((content) => ({ role: 'user', content }));
      const body = isTurn ? { model: 'svc-plus', input: scriptText, conversation } : { items };
      const answer = await sendRequest(server, 'POST', path, body).catch(() => undefined);
      if (!answer) return;
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      call.isAnswered = true;
      if (isTurn) call.response = String(answer.body['id']);
      onResponse();
    }
  }

  const getTexts = async (server: RunningServer, conversation: string): Promise<readonly string[]> => {
    const { body } = await sendRequest(server, 'GET', `/conversations/${conversation}/items?order=asc&limit=100`);
    const items = body['data'] as readonly { readonly content: readonly { readonly text: string }[] }[];
    return items.map(({ content }) => content.map(({ text }) => text).join(''));
  };

  it('keeps every acknowledged call, applies an interrupted call whole or not at all, and answers again', async () => {
    let server = await testServer.start();
    for (let round = 0; round < KILLS; round++) {
      const callers = await Promise.all(Array.from({ length: CALLERS }, () => createCaller(server)));
      let callsLeft = 1 + Math.floor(Math.random() * CALLS_MAX);
      const { child } = server;
      const onResponse = (): void => {
        callsLeft -= 1;
        if (callsLeft === 0) child.kill('SIGKILL');
      };
      await Promise.all(callers.map((caller) => sendCalls(server, caller, onResponse)));
      await testServer.stop('SIGKILL');
      server = await testServer.start();
      for (const { conversation, calls } of callers) {
        const attempted = calls.flatMap(({ texts }) => texts);
        const acknowledged = calls.filter(({ isAnswered }) => isAnswered).flatMap(({ texts }) => texts);
        const texts = await getTexts(server, conversation);
        assert.ok([acknowledged.length, attempted.length].includes(texts.length), `partial call: ${texts.join(', ')}`);
        assert.deepEqual(texts, attempted.slice(0, texts.length));
        for (const { response } of calls) {
          if (response !== undefined)
            assert.equal((await sendRequest(server, 'GET', `/responses/${response}`)).status, 200);
        }
      }
    }
    const { conversation } = await createCaller(server);
    const sendTurn = (script: string) =>
      sendRequest(server, 'POST', '/responses', { model: 'svc-plus', conversation, input: `script:${script}` });
    const longTurn = {
      model: 'svc-plus',
      conversation,
      stream: true,
      input: 'script:[{"repeat":"w ","times":100000,"perTick":1}]',
    };
    // The response head arrives with the first event; the turn holds the conversation from then on.
    const interrupted = await send(server, 'POST', '/v1/responses', longTurn);
    assert.equal((await sendTurn('["x"]')).status, 409);
    const before = await getTexts(server, conversation);
    await testServer.stop('SIGKILL');
    await assert.rejects(interrupted.text());
    server = await testServer.start();
    const answer = await until(
      'the conversation is free again',
      { timeoutMs: READY_MS_MAX + CONVERSATION_LEASE_MS },
      async () => {
        const { status, body } = await sendTurn('["on"]');
        assert.ok([200, 409].includes(status), JSON.stringify(body));
        return status === 200 ? body : undefined;
      },
    );
    assert.equal(answer['status'], 'completed');
    assert.deepEqual(await getTexts(server, conversation), [...before, 'script:["on"]', 'on']);
  });
});
