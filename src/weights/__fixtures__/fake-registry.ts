import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { EngineRuntime } from '../runtime/speech-runtime.ts';
import { listen } from './fake-hub.ts';
import { writeTar, type TestTarEntry } from './write-test-tar.ts';

/** A fake npm registry; a test changes its behavior between requests. */
export interface FakeRegistry {
  readonly url: string;
  /** Archives by name. */
  readonly archives: Map<string, Buffer>;
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[];
  /** Number of bytes of an archive after which the server stops sending. */
  stopsAfterBytes: number | undefined;
  status: number | undefined;
}

/** Starts a registry on the loopback interface. Its pages refer to archives by path. */
export async function startFakeRegistry(t: TestContext): Promise<FakeRegistry> {
  const archives = new Map<string, Buffer>();
  const registry = { archives, requests: [], stopsAfterBytes: undefined, status: undefined, url: '' } as {
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
    } else if (registry.stopsAfterBytes !== undefined) {
      response.write(archive?.subarray(0, registry.stopsAfterBytes));
    } else {
      response.end(archive);
    }
  });
  registry.url = await listen(t, server);
  return registry;
}

/** Adds a package to the registry and returns its pinned form. */
export function publishPackage(
  registry: FakeRegistry,
  name: string,
  entries: readonly TestTarEntry[],
  includedPaths: readonly string[],
): EngineRuntime['packages'][number] {
  const archive = gzipSync(writeTar(entries));
  registry.archives.set(name, archive);
  const sha512 = createHash('sha512').update(archive).digest('base64');
  return { name, version: '1.2.3', sha512, archiveBytes: archive.length, includedPaths };
}
