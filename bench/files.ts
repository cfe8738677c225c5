import { request } from 'node:http';
import { join } from 'node:path';
import { once } from 'node:events';
import type { BlobStore } from '../src/blobs/blob-store.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createFiles } from '../src/resources/files/service.ts';
import { createSqliteDialect } from '../src/store/dialects/sqlite.ts';
import { openStore } from '../src/store/store.ts';
import { withParley, withTemporaryFolder } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';
import { startChild } from './child.ts';
import { measureRow } from './result-table.ts';
import type { ResultRow } from './result-table.ts';

const MIB = 1024 * 1024;
const SIZE_MIB = 128;
const ROUNDS = 7;

const MANY = 100_000;
const FEW = 100;
const PAGES = 200;
const PAGE_SIZE = 10;

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

/** Compares file transfers with a plain stream to disk and back, and a page of many files with one of few. */
export async function measureFiles(logProgress: (text: string) => void): Promise<ResultRow[]> {
  return [
    ...(await withTemporaryFolder((folder) =>
      withParley({ PARLEY_ENGINE_KIND: 'scripted' }, (service) => measureTransfers(service, folder, logProgress)),
    )),
    ...(await withTemporaryFolder((folder) => measurePages(folder, logProgress))),
  ];
}

async function measureTransfers(
  { url, key }: BenchService,
  folder: string,
  logProgress: (text: string) => void,
): Promise<ResultRow[]> {
  const plain = await startChild('./peers/plain-files.ts', { BENCH_FILES: folder });
  try {
    const peer = `http://127.0.0.1:${await plain.request<number>('port')}/`;
    const authorization = `Bearer ${key}`;
    const head = '--b\r\ncontent-disposition: form-data; name="files"; filename="x.bin"\r\n\r\n';
    const form = { 'content-type': 'multipart/form-data; boundary=b', authorization };

    let id = '';
    const removeFile = async (): Promise<void> => {
      if (id !== '') await call('DELETE', `${url}/api/v1/files/${id}`, { authorization });
    };
    const uploadToParley = async (): Promise<number> => {
      await removeFile();
      const { mibPerSecond, text } = await send(`${url}/api/v1/files`, form, head, '\r\n--b--\r\n');
      id = /"file_id":"([^"]+)"/.exec(text)?.[1] ?? '';
      if (id === '') throw new Error(`the upload returned no file id: ${text}`);
      return mibPerSecond;
    };
    const uploadToPeer = async (): Promise<number> => (await send(peer, {}, '', '')).mibPerSecond;
    const createDownload =
      (target: () => string, headers: Readonly<Record<string, string>>) => async (): Promise<number> => {
        const startedAt = performance.now();
        const { size } = await call('GET', target(), headers);
        if (size !== SIZE_MIB * MIB) throw new Error(`expected a download of ${SIZE_MIB * MIB} bytes, got ${size}`);
        return (SIZE_MIB * 1000) / (performance.now() - startedAt);
      };

    const row = (
      measurement: string,
      measureParley: () => Promise<number>,
      measurePeer: () => Promise<number>,
    ): Promise<ResultRow> =>
      measureRow(
        { measurement, unit: 'MiB/s', peer: 'a plain stream', goal: '≥ 0.8', rounds: ROUNDS, logProgress },
        measureParley,
        measurePeer,
      );
    return [
      await row(`upload of ${SIZE_MIB} MiB, with md5 and durable`, uploadToParley, uploadToPeer),
      await row(
        `download of ${SIZE_MIB} MiB`,
        createDownload(() => `${url}/v1/files/${id}/content`, { authorization }),
        createDownload(() => peer, {}),
      ),
    ];
  } finally {
    await plain.stop();
  }
}

const CHUNK = Buffer.alloc(MIB, 'parley');

async function send(url: string, headers: Readonly<Record<string, string>>, head: string, tail: string) {
  const startedAt = performance.now();
  const length = head.length + SIZE_MIB * MIB + tail.length;
  const outgoing = request(url, { method: 'POST', headers: { ...headers, 'content-length': length } });
  const responded = once(outgoing, 'response');
  outgoing.write(head);
  for (let at = 0; at < SIZE_MIB; at += 1) if (!outgoing.write(CHUNK)) await once(outgoing, 'drain');
  outgoing.end(tail);
  const [response] = (await responded) as [AsyncIterable<Buffer>];
  let text = '';
  for await (const piece of response) text += piece.toString();
  return { text, mibPerSecond: (SIZE_MIB * 1000) / (performance.now() - startedAt) };
}

async function call(method: string, url: string, headers: Readonly<Record<string, string>>): Promise<{ size: number }> {
  const outgoing = request(url, { method, headers }).end();
  const [response] = (await once(outgoing, 'response')) as [AsyncIterable<Buffer>];
  let size = 0;
  for await (const piece of response) size += piece.length;
  return { size };
}

async function measurePages(folder: string, logProgress: (text: string) => void): Promise<ResultRow[]> {
  const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
  const limits = { fileBytesMax: 1, totalBytesMax: 1, countMax: 1 };
  const fileService = createFiles({
    store,
    blobs: UNUSED_BLOB_STORE,
    clock: systemClock,
    log: { warn: logProgress },
    getLimits: () => limits,
  });
  const createFileRecords = async (workspace: string, count: number) => {
    logProgress(`${count} files`);
    const owner = { ...OWNER, workspace };
    await store.transaction(async ({ files: rows, fileTotals }) => {
      for (let at = 0; at < count; at += 1) {
        const key = at.toString(16).padStart(32, '0');
        const blob = `${workspace}_${key}`;
        await rows.reserve({ ...owner, blob, bytes: 1, leaseUntil: 1, at });
        await rows.activate(blob, {
          id: `file-${workspace}-${key}`,
          sortKey: key,
          number: at,
          name: 'a file.jsonl',
          description: '',
          purpose: 'batch',
          sizeBytes: 1,
          md5: '',
          createdAt: at,
        });
      }
      await fileTotals.addToActiveCount(owner, 'batch', count);
    });
    return owner;
  };
  /** Returns the microseconds of one page and its total count, averaged over many pages. */
  const measureList =
    (owner: typeof OWNER | { readonly workspace: string }, skip: number) => async (): Promise<number> => {
      const listOwner = { ...OWNER, ...owner };
      const startedAt = performance.now();
      for (let at = 0; at < PAGES; at += 1) {
        const [, page] = [
          await fileService.count(listOwner),
          await fileService.list(listOwner, { limit: PAGE_SIZE, skip }),
        ];
        if (page.length !== PAGE_SIZE) throw new Error(`expected a page of ${PAGE_SIZE} files, got ${page.length}`);
      }
      return ((performance.now() - startedAt) * 1000) / PAGES;
    };
  try {
    const largeOwner = await createFileRecords('many', MANY);
    const smallOwner = await createFileRecords('few', FEW);
    const row = (measurement: string, skip: number, goal: string): Promise<ResultRow> =>
      measureRow(
        { measurement, unit: 'µs', peer: `of ${FEW} files`, goal, rounds: ROUNDS, logProgress },
        measureList(largeOwner, skip),
        measureList(smallOwner, Math.min(skip, FEW - PAGE_SIZE)),
      );
    return [
      await row(`first page of ${MANY} files`, 0, '≤ 1.3'),
      await row(`page 100 of ${MANY} files, by number`, 990, '–'),
    ];
  } finally {
    await fileService.close();
    await store.close();
  }
}

/** Blob store that lists never touch. */
const UNUSED_BLOB_STORE: BlobStore = {
  put: () => Promise.reject(new Error('this benchmark stores no blobs')),
  read: () => Promise.reject(new Error('this benchmark stores no blobs')),
  delete: () => Promise.resolve(),
  abortUpload: () => Promise.resolve(),
  list: async function* list() {},
  removeStaleUploads: () => Promise.resolve(0),
  close: () => Promise.resolve(),
};
