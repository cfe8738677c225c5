import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { inspect } from 'node:util';
import { ServiceError } from '../core/error.ts';
import { S3_PART_BYTES, S3_PARTS_IN_MEMORY_MAX, S3_SPOOL_WRITE_BYTES } from './limits.ts';
import { openBlobStore } from './open-blob-store.ts';

const MIB = 1024 * 1024;

const SECRET = 'a secret of no value';

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: 'AKIATESTS',
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_SESSION_TOKEN: 'session-of-tests',
};

describe('blobs.url', () => {
  for (const [url, message] of [
    ['file:///var/blobs', /must start with s3:/],
    ['bucket/prefix', /must start with s3:/],
    ['', /must start with s3:/],
    ['s3://', /must name a bucket/],
    ['s3://B_cket/a', /must name a bucket/],
    ['s3://bucket:80/a', /must name a bucket/],
    ['s3://key:secret@bucket/a', /must not contain credentials/],
    ['s3://key@bucket/a', /must not contain credentials/],
    ['s3://bucket?enpoint=http://a', /has the unknown parameter enpoint/],
    ['s3://bucket?endpoint=a.example', /has an invalid endpoint/],
    ['s3://bucket?endpoint=ftp://a.example', /has an invalid endpoint/],
    ['s3://bucket?endpoint=http://key:secret@a.example', /has an invalid endpoint/],
    ['s3://bucket?pathStyle=yes', /has an invalid pathStyle/],
    ['s3://bucket/%zz', /has a prefix with invalid percent-encoding/],
  ] as const) {
    it(`rejects ${url}`, async () => {
      await assert.rejects(openBlobStore({ url, folder: '', environment: ENVIRONMENT }), (thrown) => {
        assert.ok(thrown instanceof ServiceError);
        assert.equal(thrown.kind, 'invalid-request');
        assert.match(thrown.message, message);
        return true;
      });
    });
  }
});

describe('blobs in a bucket of a fake S3 server', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup();
  });

  type Answer = readonly [status: number, body: string];

  async function open(query: string, answer: (request: IncomingMessage) => Answer | Promise<Answer>) {
    const folder = await mkdtemp(join(tmpdir(), 'parley-spool-'));
    const requests: { readonly line: string; readonly authorization: string }[] = [];
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => {
        requests.push({
          line: `${request.method} ${request.url}`,
          authorization: request.headers.authorization ?? '',
        });
        void Promise.resolve(answer(request)).then(([status, body]) =>
          response.writeHead(status, { 'content-type': 'application/xml', etag: 'e' }).end(body),
        );
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`);
    const store = await openBlobStore({
      url: `s3://bucket/some/files/?endpoint=${endpoint}${query}`,
      folder,
      environment: ENVIRONMENT,
    });
    cleanups.push(async () => {
      await store.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await rm(folder, { recursive: true });
    });
    return { store, requests, folder };
  }

  it('requests blobs under the prefix, in path style, for the region', async () => {
    const { store, requests } = await open('&region=eu-central-1', () => [204, '']);
    await store.delete('file-1');
    assert.equal(requests[0]?.line, 'DELETE /bucket/some/files/file-1?x-id=DeleteObject');
    assert.match(requests[0]?.authorization ?? '', /Credential=AKIATESTS\/\d{8}\/eu-central-1\/s3\//);
  });

  it('maps an S3 error to an internal error whose cause contains no credentials', async () => {
    const errorXml = `<Error><Code>SignatureDoesNotMatch</Code><Message>no match for AKIATESTS and ${SECRET}</Message>
      <AWSAccessKeyId>AKIATESTS</AWSAccessKeyId><StringToSign>session-of-tests</StringToSign><RequestId>17</RequestId></Error>`;
    const { store } = await open('', () => [403, errorXml]);
    async function* nothing(): AsyncGenerator<Uint8Array> {}
    for (const call of [
      () => store.put('file-1', nothing()),
      () => store.read('file-1'),
      () => store.delete('file-1'),
      () => store.abortUpload('file-1'),
      () => store.list()[Symbol.asyncIterator]().next(),
      () => store.removeStaleUploads(1),
    ]) {
      const thrown = await call().then(
        () => assert.fail('the call was not rejected'),
        (error: unknown) => error,
      );
      assert.ok(thrown instanceof ServiceError);
      assert.equal(thrown.kind, 'internal');
      assert.doesNotMatch(inspect(thrown, { depth: 10, showHidden: true }), /AKIATESTS|secret of no value|session-of/);
      assert.match(
        String(thrown.cause),
        /^Error: S3 \w+ failed \(status 403, request \S+\): SignatureDoesNotMatch: no match/,
      );
    }
  });

  for (const [status, code] of [
    [507, 'InsufficientStorage'],
    [403, 'QuotaExceeded'],
    [507, 'XMinioStorageFull'],
  ] as const) {
    it(`reports a full store for ${status} ${code} of the server`, async () => {
      const { store, requests } = await open('', ({ method }) =>
        method === 'PUT' ? [status, `<Error><Code>${code}</Code><Message>full</Message></Error>`] : [204, ''],
      );
      async function* few(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(10);
      }
      await assert.rejects(store.put('file-1', few()), { kind: 'overloaded', message: /disk of the service is full/ });
      assert.ok(requests.some(({ line }) => line.startsWith('DELETE')));
    });
  }

  it('aborts the upload and deletes the object when the completion fails', async () => {
    const { store, requests } = await open('', ({ method, url = '' }) => {
      if (method === 'POST' && url.includes('uploads')) {
        return [200, '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'];
      }
      // S3 reports a failed completion with status 200 and an error body.
      return method === 'POST' ? [200, '<Error><Code>AccessDenied</Code><Message>no</Message></Error>'] : [200, ''];
    });
    async function* large(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(6 * 1024 * 1024);
    }
    await assert.rejects(store.put('file-1', large()), /internal error/);
    const lines = requests.map(({ line }) => line.replace('/bucket/some/files/', ''));
    assert.ok(lines.includes('DELETE file-1?uploadId=u1&x-id=AbortMultipartUpload'), lines.join('\n'));
    assert.ok(lines.includes('DELETE file-1?x-id=DeleteObject'), lines.join('\n'));
  });

  it('aborts the upload and sends no more parts when a part fails', async () => {
    const { store, requests } = await open('', ({ method, url = '' }) => {
      if (method === 'POST' && url.includes('uploads')) {
        return [200, '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'];
      }
      return method === 'PUT' ? [403, '<Error><Code>AccessDenied</Code><Message>no</Message></Error>'] : [204, ''];
    });
    let pieces = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        pieces += 1;
        yield Buffer.alloc(1024 * 1024);
      }
    }
    await assert.rejects(store.put('file-1', endless()), /internal error/);
    assert.ok(requests.some(({ line }) => line.startsWith('DELETE') && line.includes('uploadId=u1')));
    assert.ok(pieces < 60, `${pieces} pieces were read`);
  });

  it(
    'keeps no part in memory for a slow client, and few parts while the server is slow',
    { timeout: 60_000 },
    async () => {
      const { promise: answersAllowed, resolve: answerAll } = Promise.withResolvers<void>();
      const { store, requests, folder } = await open('', async ({ method, url = '' }) => {
        if (method === 'PUT') await answersAllowed;
        if (method !== 'POST') return [200, ''];
        return url.includes('uploads')
          ? [200, '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>']
          : [200, '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>'];
      });
      const piece = Buffer.alloc(MIB, 'parley');
      let sending = 0;
      const stop = new AbortController();
      async function* slow(): AsyncGenerator<Uint8Array> {
        for (let count = 0; count < 4; count += 1) yield piece;
        sending += 1;
        await new Promise(() => undefined);
      }
      async function* fast(): AsyncGenerator<Uint8Array> {
        for (let count = 0; count < 14; count += 1) yield piece;
      }
      const startBytes = process.memoryUsage().arrayBuffers;
      const names = Array.from({ length: 40 }, (_, at) => `file-${at}`);
      const slowUploads = names.map((name) => store.put(`${name}-slow`, slow(), { signal: stop.signal }));
      const fastUploads = names.map((name) => store.put(name, fast()));
      for (const each of slowUploads) each.catch(() => undefined);
      const puts = () => requests.filter(({ line }) => line.startsWith('PUT')).length;
      // The server has received the maximum number of concurrent parts and answers none.
      while (sending < names.length || puts() < S3_PARTS_IN_MEMORY_MAX) await yieldToEventLoop();
      const usedBytes = process.memoryUsage().arrayBuffers - startBytes;
      // Each of the 80 uploads also buffers bytes for the disk, and the fake server runs in the same process.
      const boundBytes = 2 * (S3_PARTS_IN_MEMORY_MAX * S3_PART_BYTES + 80 * S3_SPOOL_WRITE_BYTES);
      assert.ok(usedBytes < boundBytes, `${usedBytes} bytes are in memory`);
      // A spool file has a name only until it is unlinked, so those of the fast uploads may just exist.
      while ((await readdir(join(folder, 'incoming'))).length > 0) await yieldToEventLoop();
      answerAll();
      const metadata = await Promise.all(fastUploads);
      assert.ok(metadata.every(({ sizeBytes }) => sizeBytes === 14 * MIB));
      stop.abort(new Error('enough'));
      await Promise.allSettled(slowUploads);
    },
  );

  it('aborts the uploads of one name, but none whose name only starts with it', async () => {
    const upload = (key: string, id: string): string =>
      `<Upload><Key>some/files/${key}</Key><UploadId>${id}</UploadId></Upload>`;
    const page = `<ListMultipartUploadsResult>${upload('a', 'one')}${upload('ab', 'other')}${upload('a', 'two')}</ListMultipartUploadsResult>`;
    const { store, requests } = await open('', ({ method }) => (method === 'GET' ? [200, page] : [204, '']));
    await store.abortUpload('a');
    assert.match(requests[0]?.line ?? '', /^GET .*prefix=some%2Ffiles%2Fa(&|$)/);
    const abortedIds = requests.slice(1).map(({ line }) => /^DELETE .*uploadId=(\w+)/.exec(line)?.[1]);
    assert.deepEqual(abortedIds, ['one', 'two']);
  });

  it('removes its own stale uploads page by page', async () => {
    const upload = (key: string, id: string, at: string): string =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`;
    const old = '2026-01-01T00:00:00.000Z';
    const pages = [
      `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>m</NextUploadIdMarker>
        ${upload('some/files/a', 'old', old)}${upload('some/files/b', 'young', '2026-06-01T00:00:00.000Z')}</ListMultipartUploadsResult>`,
      `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>
        ${upload('some/files/deeper/c', 'other', old)}${upload('some/files/d', 'older', old)}</ListMultipartUploadsResult>`,
    ];
    const { store, requests } = await open('', ({ method, url = '' }) =>
      method === 'GET' ? [200, pages[url.includes('key-marker=k') ? 1 : 0] ?? ''] : [204, ''],
    );
    assert.equal(await store.removeStaleUploads(Date.parse('2026-03-01')), 2);
    const abortedIds = requests
      .filter(({ line }) => line.startsWith('DELETE'))
      .map(({ line }) => /uploadId=(\w+)/.exec(line)?.[1]);
    assert.deepEqual(abortedIds, ['old', 'older']);
  });
});
