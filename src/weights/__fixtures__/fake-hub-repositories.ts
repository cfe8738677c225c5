import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { hashBytes, listen } from './fake-hub.ts';

/** A repository of the fake hub: its files, and its number of downloads. */
export interface FakeRepository {
  readonly files: Readonly<Record<string, string | Buffer>>;
  readonly downloads?: number;
  readonly tags?: readonly string[];
}

export interface FakeRepositories {
  readonly url: string;
  /** Paths of all requests in order. */
  readonly paths: string[];
}

/** Commit of every repository of the fake hub. */
export const FAKE_COMMIT = 'c'.repeat(40);

/** Entries of one page of a file list, so that tests see several pages. */
const PAGE_ENTRIES = 2;

/**
 * Starts a hub with repositories on the loopback interface. It answers the search, the revision, the file list in pages,
 * and files with a redirect, as the real hub does.
 */
export async function startFakeRepositories(
  t: TestContext,
  repositories: Readonly<Record<string, FakeRepository>>,
): Promise<FakeRepositories> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    paths.push(`${url.pathname}${url.search}`);
    const sendJson = (value: unknown, headers: Record<string, string> = {}): void =>
      void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (url.pathname === '/api/models') return sendJson(search(repositories, url.searchParams));
    const api = /^\/api\/models\/([^/]+\/[^/]+)\/(revision|tree)\/([^/]+)$/.exec(url.pathname);
    const file = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname);
    const blob = /^\/blobs\/([^/]+\/[^/]+)\/(.+)$/.exec(url.pathname);
    const [, id = '', last = ''] = api ?? blob ?? file ?? [];
    const repository = repositories[id];
    if (!repository || (file && file[2] !== FAKE_COMMIT && file[2] !== 'main')) {
      response.writeHead(404).end('{"error":"Repository not found"}');
    } else if (api && last === 'revision') {
      sendJson({ id, sha: FAKE_COMMIT, tags: repository.tags ?? ['license:apache-2.0'] });
    } else if (api) {
      const entries = Object.entries(repository.files).map(([path, content]) => encodeFile(path, Buffer.from(content)));
      const start = Number(url.searchParams.get('cursor') ?? 0);
      const next = start + PAGE_ENTRIES;
      const link = `<http://${request.headers.host}${url.pathname}?recursive=true&cursor=${next}>; rel="next"`;
      sendJson(entries.slice(start, next), next < entries.length ? { link } : {});
    } else {
      const path = decodeURIComponent(blob?.[2] ?? file?.[3] ?? '');
      const content = Buffer.from(repository.files[path] ?? '');
      const etag = `"${hashBytes(content)}"`;
      if (blob) response.writeHead(200, { etag, 'content-length': content.length }).end(content);
      else
        response
          .writeHead(302, {
            location: `/blobs/${id}/${encodeURIComponent(path)}`,
            'x-linked-etag': etag,
            'x-linked-size': content.length,
          })
          .end();
    }
  });
  return { url: await listen(t, server), paths };
}

function search(repositories: Readonly<Record<string, FakeRepository>>, query: URLSearchParams): unknown {
  const words = (query.get('search') ?? '').toLowerCase().split(/\s+/);
  return Object.entries(repositories)
    .filter(([id]) => words.every((word) => id.toLowerCase().includes(word)))
    .map(([id, { downloads = 0, tags = ['license:apache-2.0'] }]) => ({ id, downloads, tags: ['gguf', ...tags] }))
    .slice(0, Number(query.get('limit') ?? 1_000));
}

/** Encodes an entry of the file list. A file of large file storage has an `lfs` with its SHA-256. */
const encodeFile = (path: string, content: Buffer): unknown => ({
  type: 'file',
  path,
  size: content.length,
  oid: 'f'.repeat(40),
  ...(path.endsWith('.gguf') ? { lfs: { oid: hashBytes(content), size: content.length, pointerSize: 134 } } : {}),
});
