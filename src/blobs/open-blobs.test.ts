import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { ServiceError } from '../core/error.ts';
import { S3_PART_BYTES, S3_PARTS_AT_ONCE, S3_SPOOL_WRITE_BYTES } from '../core/limits.ts';
import { openBlobs } from './open-blobs.ts';

const MIB = 1024 * 1024;

const SECRET = 'a secret of no value';

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: 'AKIATESTS',
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_SESSION_TOKEN: 'session-of-tests',
};

describe('the url of blobs', () => {
  for (const [url, message] of [
    ['file:///var/blobs', /must begin with s3:/],
    ['bucket/prefix', /must begin with s3:/],
    ['', /must begin with s3:/],
    ['s3://', /names no bucket/],
    ['s3://B_cket/a', /names no bucket/],
    ['s3://bucket:80/a', /names no bucket/],
    ['s3://key:secret@bucket/a', /must not hold credentials/],
    ['s3://key@bucket/a', /must not hold credentials/],
    ['s3://bucket?enpoint=http://a', /has a parameter enpoint/],
    ['s3://bucket?endpoint=a.example', /has an endpoint that is no address/],
    ['s3://bucket?endpoint=ftp://a.example', /has an endpoint that is no address/],
    ['s3://bucket?endpoint=http://key:secret@a.example', /has an endpoint that is no address/],
    ['s3://bucket?pathStyle=yes', /has a pathStyle that is neither/],
    ['s3://bucket/%zz', /has a prefix that cannot be read/],
  ] as const) {
    it(`is refused: ${url}`, async () => {
      await assert.rejects(openBlobs({ url, folder: '', environment: ENVIRONMENT }), (thrown) => {
        assert.ok(thrown instanceof ServiceError);
        assert.equal(thrown.kind, 'invalid-request');
        assert.match(thrown.message, message);
        return true;
      });
    });
  }
});

describe('blobs in a bucket of a server that plays a part', () => {
  const endings: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0)) await end();
  });

  type Answer = readonly [status: number, body: string];

  async function open(query: string, answer: (request: IncomingMessage) => Answer | Promise<Answer>) {
    const folder = await mkdtemp(join(tmpdir(), 'parley-spool-'));
    const seen: { readonly line: string; readonly authorization: string }[] = [];
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => {
        seen.push({
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
    const store = await openBlobs({
      url: `s3://bucket/some/files/?endpoint=${endpoint}${query}`,
      folder,
      environment: ENVIRONMENT,
    });
    endings.push(async () => {
      await store.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await rm(folder, { recursive: true });
    });
    return { store, seen, folder };
  }

  it('are asked for under the prefix, in the path, for the region', async () => {
    const { store, seen } = await open('&region=eu-central-1', () => [204, '']);
    await store.delete('file-1');
    assert.equal(seen[0]?.line, 'DELETE /bucket/some/files/file-1?x-id=DeleteObject');
    assert.match(seen[0]?.authorization ?? '', /Credential=AKIATESTS\/\d{8}\/eu-central-1\/s3\//);
  });

  it('tell of a refusal as an internal error, whose cause for the log holds no credentials', async () => {
    const said = `<Error><Code>SignatureDoesNotMatch</Code><Message>no match for AKIATESTS and ${SECRET}</Message>
      <AWSAccessKeyId>AKIATESTS</AWSAccessKeyId><StringToSign>session-of-tests</StringToSign><RequestId>17</RequestId></Error>`;
    const { store } = await open('', () => [403, said]);
    async function* nothing(): AsyncGenerator<Uint8Array> {}
    for (const call of [
      () => store.put('file-1', nothing()),
      () => store.read('file-1'),
      () => store.delete('file-1'),
      () => store.abandon('file-1'),
      () => store.list()[Symbol.asyncIterator]().next(),
      () => store.sweep(1),
    ]) {
      const thrown = await call().then(
        () => assert.fail('it was not refused'),
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
    it(`say that there is no room where the server says ${status} ${code}, and not that it is our fault`, async () => {
      const { store, seen } = await open('', ({ method }) =>
        method === 'PUT' ? [status, `<Error><Code>${code}</Code><Message>full</Message></Error>`] : [204, ''],
      );
      async function* few(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(10);
      }
      await assert.rejects(store.put('file-1', few()), { kind: 'overloaded', message: /no room left/ });
      assert.ok(seen.some(({ line }) => line.startsWith('DELETE')));
    });
  }

  it('leave nothing where the end of an upload was not heard: it is ended and the object removed', async () => {
    const { store, seen } = await open('', ({ method, url = '' }) => {
      if (method === 'POST' && url.includes('uploads')) {
        return [200, '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'];
      }
      // An end that fails has a good status and says so in its body.
      return method === 'POST' ? [200, '<Error><Code>AccessDenied</Code><Message>no</Message></Error>'] : [200, ''];
    });
    async function* large(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(6 * 1024 * 1024);
    }
    await assert.rejects(store.put('file-1', large()), /internal error/);
    const lines = seen.map(({ line }) => line.replace('/bucket/some/files/', ''));
    assert.ok(lines.includes('DELETE file-1?uploadId=u1&x-id=AbortMultipartUpload'), lines.join('\n'));
    assert.ok(lines.includes('DELETE file-1?x-id=DeleteObject'), lines.join('\n'));
  });

  it('leave nothing where a part fails, and send no more of them', async () => {
    const { store, seen } = await open('', ({ method, url = '' }) => {
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
    assert.ok(seen.some(({ line }) => line.startsWith('DELETE') && line.includes('uploadId=u1')));
    assert.ok(pieces < 60, `${pieces} pieces were taken`);
  });

  it(
    'hold no part in memory for a sender who is slow, and few for those that wait for the server',
    { timeout: 60_000 },
    async () => {
      const { promise: mayAnswer, resolve: answerAll } = Promise.withResolvers<void>();
      const { store, seen, folder } = await open('', async ({ method, url = '' }) => {
        if (method === 'PUT') await mayAnswer;
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
      const slowOnes = names.map((name) => store.put(`${name}-slow`, slow(), { signal: stop.signal }));
      const fastOnes = names.map((name) => store.put(name, fast()));
      for (const each of slowOnes) each.catch(() => undefined);
      const puts = () => seen.filter(({ line }) => line.startsWith('PUT')).length;
      // The server has taken in as many as it may have at once, and answers none of them.
      while (sending < names.length || puts() < S3_PARTS_AT_ONCE) await turn();
      const heldBytes = process.memoryUsage().arrayBuffers - startBytes;
      // Each of the eighty has what is on its way to the disk besides, and so has the server, in the same process.
      const boundBytes = 2 * (S3_PARTS_AT_ONCE * S3_PART_BYTES + 80 * S3_SPOOL_WRITE_BYTES);
      assert.ok(heldBytes < boundBytes, `${heldBytes} bytes are held`);
      // A file has its name for the moment in which it is made: those of the fast ones may just be. None keeps it.
      while ((await readdir(join(folder, 'incoming'))).length > 0) await turn();
      answerAll();
      const facts = await Promise.all(fastOnes);
      assert.ok(facts.every(({ sizeBytes }) => sizeBytes === 14 * MIB));
      stop.abort(new Error('enough'));
      await Promise.allSettled(slowOnes);
    },
  );

  it('abandon the uploads of one name, asked for by its key, and none whose name begins with it', async () => {
    const upload = (key: string, id: string): string =>
      `<Upload><Key>some/files/${key}</Key><UploadId>${id}</UploadId></Upload>`;
    const page = `<ListMultipartUploadsResult>${upload('a', 'one')}${upload('ab', 'other')}${upload('a', 'two')}</ListMultipartUploadsResult>`;
    const { store, seen } = await open('', ({ method }) => (method === 'GET' ? [200, page] : [204, '']));
    await store.abandon('a');
    assert.match(seen[0]?.line ?? '', /^GET .*prefix=some%2Ffiles%2Fa(&|$)/);
    const ended = seen.slice(1).map(({ line }) => /^DELETE .*uploadId=(\w+)/.exec(line)?.[1]);
    assert.deepEqual(ended, ['one', 'two']);
  });

  it('sweep page by page, what is theirs and old alone', async () => {
    const upload = (key: string, id: string, at: string): string =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`;
    const old = '2026-01-01T00:00:00.000Z';
    const pages = [
      `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>m</NextUploadIdMarker>
        ${upload('some/files/a', 'old', old)}${upload('some/files/b', 'young', '2026-06-01T00:00:00.000Z')}</ListMultipartUploadsResult>`,
      `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>
        ${upload('some/files/deeper/c', 'other', old)}${upload('some/files/d', 'older', old)}</ListMultipartUploadsResult>`,
    ];
    const { store, seen } = await open('', ({ method, url = '' }) =>
      method === 'GET' ? [200, pages[url.includes('key-marker=k') ? 1 : 0] ?? ''] : [204, ''],
    );
    assert.equal(await store.sweep(Date.parse('2026-03-01')), 2);
    const ended = seen
      .filter(({ line }) => line.startsWith('DELETE'))
      .map(({ line }) => /uploadId=(\w+)/.exec(line)?.[1]);
    assert.deepEqual(ended, ['old', 'older']);
  });
});
