import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { EngineRuntime } from '../runtime/speech-runtime.ts';
import type { WrittenEntry } from './write-tar.ts';
import { writeTar } from './write-tar.ts';

/** What the registry does; a test changes it between requests. */
export interface FakeRegistry {
  readonly url: string;
  /** Archives by name. */
  readonly archives: Map<string, Buffer>;
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[];
  /** Says nothing more after this many bytes of an archive. */
  stopsAfter: number | undefined;
  status: number | undefined;
}

/** A registry on the loopback interface; pages name archives by path. */
export async function startFakeRegistry(t: TestContext): Promise<FakeRegistry> {
  const archives = new Map<string, Buffer>();
  const registry = { archives, requests: [], stopsAfter: undefined, status: undefined, url: '' } as {
    -readonly [Key in keyof FakeRegistry]: FakeRegistry[Key];
  };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    registry.requests.push({ path, authorization: request.headers.authorization });
    const archive = archives.get(path.replace(/^\/files\//, ''));
    const page = archives.has(path.slice(1)) ? path.slice(1) : undefined;
    if (registry.status !== undefined || (!archive && page === undefined)) {
      response.writeHead(registry.status ?? 404).end();
    } else if (page !== undefined) {
      response.end(JSON.stringify({ name: page, versions: { '1.2.3': { dist: { tarball: `/files/${page}` } } } }));
    } else if (registry.stopsAfter !== undefined) {
      response.write(archive?.subarray(0, registry.stopsAfter));
    } else {
      response.end(archive);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  registry.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return registry;
}

/** A package of the registry, and what is known of it. */
export function publish(
  registry: FakeRegistry,
  name: string,
  entries: readonly WrittenEntry[],
  keeps: readonly string[],
): EngineRuntime['packages'][number] {
  const archive = gzipSync(writeTar(entries));
  registry.archives.set(name, archive);
  const sha512 = createHash('sha512').update(archive).digest('base64');
  return { name, version: '1.2.3', sha512, archiveBytes: archive.length, keeps };
}
