import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { TextEngine } from '../../src/engines/engine.ts';
import type { EngineOnTrial } from '../contracts/engine-contract.ts';

/** A server that somebody else runs, seen through a relay of ours that can break its connections. */
export interface ReachedServer {
  /** Without a version. */
  readonly url: string;
  readonly model: string;
  readonly contextTokens: number;
  /** Answers that it is working on, those that wait included. */
  busy(): Promise<number>;
  /** Breaks all connections: what a caller sees of a server that dies. */
  strike(): void;
  close(): Promise<void>;
}

export interface ServerWords {
  /** Who owns its models, as it says. */
  readonly owner: string;
  /** Where it counts its requests. */
  readonly countsAt: string;
  /** Those that run and those that wait, out of what it says there. */
  readonly counts: RegExp;
}

/** @param address Of the server itself: http, without a version. */
export async function reachServer(address: string, { owner, countsAt, counts }: ServerWords): Promise<ReachedServer> {
  const { hostname, port } = new URL(address);
  const open = new Set<Socket>();
  const relay = createServer((caller) => {
    const server = connect(Number(port) || 80, hostname);
    for (const [one, other] of [
      [caller, server],
      [server, caller],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const strike = (): void => {
    for (const socket of open) socket.destroy();
  };
  const asked = async (path: string): Promise<Response> => {
    const answer = await fetch(new URL(path, address));
    assert.equal(answer.status, 200, path);
    return answer;
  };
  const list = (await (await asked('/v1/models')).json()) as {
    readonly data: readonly { readonly id: string; readonly max_model_len: number; readonly owned_by: string }[];
  };
  const [model] = list.data;
  assert.ok(model?.owned_by === owner, `it is ${owner}`);
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    model: model.id,
    contextTokens: model.max_model_len,
    async busy() {
      const found = [...(await (await asked(countsAt)).text()).matchAll(counts)];
      assert.ok(found.length >= 2, 'it counts its requests');
      return found.reduce((sum, [, count]) => sum + Number(count), 0);
    },
    strike,
    async close() {
      strike();
      relay.close();
      await once(relay, 'close');
    },
  };
}

/** Such a server on trial, by one of our engines. */
export const trialOf =
  (address: string, { sequences, ...words }: ServerWords & { readonly sequences: number }) =>
  (create: (server: ReachedServer) => TextEngine) =>
  async (): Promise<EngineOnTrial> => {
    const server = await reachServer(address, words);
    const engine = create(server);
    return {
      engine,
      contextTokens: server.contextTokens,
      sequences,
      longTokens: 60,
      busy: () => server.busy(),
      deadly: { text: 'Tell me a long story.', strike: () => server.strike() },
      async close() {
        await engine.close();
        await server.close();
      },
    };
  };
