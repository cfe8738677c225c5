import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { TextEngine } from '../../src/engines/engine.ts';
import type { EngineUnderTest } from '../contracts/engine-contract.ts';

/** A running model server behind a TCP relay that can break its connections. */
export interface RelayedServer {
  /** URL of the relay, without a version path. */
  readonly url: string;
  readonly model: string;
  readonly contextTokens: number;
  /** Number of requests that run or wait on the server. */
  countRequests(): Promise<number>;
  /** Breaks all connections, as if the server had died. */
  breakConnections(): void;
  close(): Promise<void>;
}

export interface ServerMetadata {
  /** The value of `owned_by` in the server's list of models. */
  readonly ownedBy: string;
  /** Path of the page on which the server reports its number of requests. */
  readonly countsPath: string;
  /** Matches the numbers of running and of waiting requests on that page. */
  readonly countsPattern: RegExp;
}

/** Opens a relay to a server. @param address URL of the server: http, without a version path. */
export async function openRelayedServer(
  address: string,
  { ownedBy, countsPath, countsPattern }: ServerMetadata,
): Promise<RelayedServer> {
  const { hostname, port } = new URL(address);
  const sockets = new Set<Socket>();
  const relay = createServer((caller) => {
    const server = connect(Number(port) || 80, hostname);
    for (const [one, other] of [
      [caller, server],
      [server, caller],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const breakConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const fetchPath = async (path: string): Promise<Response> => {
    const answer = await fetch(new URL(path, address));
    assert.equal(answer.status, 200, path);
    return answer;
  };
  const list = (await (await fetchPath('/v1/models')).json()) as {
    readonly data: readonly { readonly id: string; readonly max_model_len: number; readonly owned_by: string }[];
  };
  const [model] = list.data;
  assert.ok(model?.owned_by === ownedBy, `the server is not ${ownedBy}`);
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    model: model.id,
    contextTokens: model.max_model_len,
    async countRequests() {
      const counts = [...(await (await fetchPath(countsPath)).text()).matchAll(countsPattern)];
      assert.ok(counts.length >= 2, 'the page has no request counts');
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    },
    breakConnections,
    async close() {
      breakConnections();
      relay.close();
      await once(relay, 'close');
    },
  };
}

/** Returns a function that creates subjects for the engine contract from an engine for the relayed server. */
export const createSubjectFactory =
  (address: string, { sequences, ...metadata }: ServerMetadata & { readonly sequences: number }) =>
  (create: (server: RelayedServer) => TextEngine) =>
  async (): Promise<EngineUnderTest> => {
    const server = await openRelayedServer(address, metadata);
    const engine = create(server);
    return {
      engine,
      contextTokens: server.contextTokens,
      sequences,
      longTokens: 60,
      countBusy: () => server.countRequests(),
      failing: { text: 'Tell me a long story.', fail: () => server.breakConnections() },
      async close() {
        await engine.close();
        await server.close();
      },
    };
  };
