import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { LogFields } from '../core/telemetry.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createJsonReply } from '../protocols/endpoint.ts';
import { chatRequest, connectRaw, startTestHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';

const BYTES = Buffer.from('0123456789');
let errorKinds: string[] = [];

/** Endpoint that returns the received parts. Rejects a file named `refused` without reading it. */
const uploadEndpoint: Endpoint = {
  operation: 'test.take',
  method: 'POST',
  path: '/compatible-mode/v1/take',
  family: 'compatible',
  regions: ['cn-beijing'],
  onDisconnect: 'finish',
  uploadBytesMax: 40 * 1024 * 1024,
  async handle({ upload, body }) {
    assert.equal(body, undefined);
    const received: unknown[] = [];
    try {
      for await (const part of upload ?? assert.fail()) {
        if (part.type === 'field') received.push([part.name, part.value]);
        else if (part.fileName === 'refused') throw new ServiceError('storage-quota', 'Full.');
        else if (part.fileName === 'skipped') received.push([part.name, part.fileName]);
        else {
          const hash = createHash('md5');
          let size = 0;
          for await (const piece of part.bytes) {
            hash.update(piece);
            size += piece.byteLength;
          }
          received.push([part.name, part.fileName, size, hash.digest('hex')]);
        }
      }
    } catch (thrown) {
      errorKinds.push(ServiceError.from(thrown).kind);
      throw thrown;
    }
    return createJsonReply(received);
  },
};

const downloadEndpoint: Endpoint = {
  operation: 'test.give',
  method: 'GET',
  path: '/compatible-mode/v1/give/:file',
  family: 'compatible',
  regions: ['cn-beijing'],
  onDisconnect: 'cancel',
  async handle({ params }) {
    const file = params['file'];
    const bytes = file === 'empty' ? Buffer.alloc(0) : BYTES;
    return {
      type: 'bytes',
      sizeBytes: file === 'many' ? PIECES * PIECE_BYTES : bytes.length,
      etag: 'tag',
      headers: { 'content-type': 'application/octet-stream', 'x-own': '1' },
      async open(range) {
        if (file === 'missing') throw new ServiceError('file-not-found', 'File not found.');
        if (file === 'broken') return Readable.from(breaking());
        if (file === 'many') return Readable.from(pieces());
        return Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)]);
      },
    };
  },
};

/** Chunks with memory of their own, as reads from a disk or a socket have. */
const PIECES = 2000;
const PIECE_BYTES = 10_000;
const createPiece = (at: number): Buffer => Buffer.allocUnsafeSlow(PIECE_BYTES).fill(`piece ${at} `);

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < PIECES; at += 1) yield createPiece(at);
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield BYTES.subarray(0, 3);
  throw new Error('the disk is gone');
}

const signedEndpoint: Endpoint = {
  ...downloadEndpoint,
  operation: 'test.signed',
  path: '/signed/:file',
  async resolveOwner({ query }) {
    if (query.get('s') !== 'right') throw new ServiceError('forbidden', 'No.');
    return { workspace: 'w', region: 'cn-beijing', keyId: 'key_1' };
  },
};

let server: TestHttp;
let shortTimeoutServer: TestHttp;
before(async () => {
  const more = [uploadEndpoint, downloadEndpoint, signedEndpoint];
  server = await startTestHttp({ more });
  shortTimeoutServer = await startTestHttp({ more, limits: { uploadStallMs: 150, requestReceiveMs: 100_000 } });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await shortTimeoutServer[Symbol.asyncDispose]();
});

const good = { authorization: 'Bearer sk-good' };
const post = async (form: FormData): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${server.url}/v1/take`, { method: 'POST', headers: good, body: form });
  return { status: response.status, body: await response.json() };
};
const get = (file: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${server.url}/v1/give/${file}`, { headers: { ...good, ...headers }, ...init });

const rawPost = (lines: readonly string[], body = ''): string =>
  ['POST /v1/take HTTP/1.1', 'host: x', 'authorization: Bearer sk-good', ...lines, '', body].join('\r\n');
const TYPE = 'content-type: multipart/form-data; boundary=b';
const filePart = (name: string, bytes: string) =>
  `--b\r\ncontent-disposition: form-data; name="f"; filename="${name}"\r\n\r\n${bytes}\r\n`;

test('passes fields and files in order with their bytes', async () => {
  const big = Buffer.alloc(5 * 1024 * 1024, 'abc');
  const form = new FormData();
  form.append('purpose', 'ü');
  form.append('files', new Blob([big]), 'a "b".bin');
  form.append('files', new Blob([]), 'empty');
  form.append('files', new Blob([big]), 'skipped');
  form.append('last', '1');
  const { status, body } = await post(form);
  assert.equal(status, 200);
  assert.deepEqual(body, [
    ['purpose', 'ü'],
    ['files', 'a "b".bin', big.length, createHash('md5').update(big).digest('hex')],
    ['files', 'empty', 0, createHash('md5').digest('hex')],
    ['files', 'skipped'],
    ['last', '1'],
  ]);
});

test('joins a field that arrives in many chunks', async () => {
  const value = Array.from({ length: 200 }, (_, at) => `piece ${at} `).join('');
  const head = '--b\r\ncontent-disposition: form-data; name="f"\r\n\r\n';
  async function* slowly(): AsyncGenerator<Uint8Array> {
    for (const piece of [head, ...(value.match(/.{1,20}/g) ?? []), '\r\n--b--']) {
      yield Buffer.from(piece);
      await yieldToEventLoop();
    }
  }
  const response = await fetch(`${server.url}/v1/take`, {
    method: 'POST',
    headers: { ...good, 'content-type': 'multipart/form-data; boundary=b' },
    body: Readable.toWeb(Readable.from(slowly())) as ReadableStream,
    duplex: 'half',
  } as RequestInit);
  assert.deepEqual(await response.json(), [['f', value]]);
});

test('sends every byte unchanged to a slow reader', { timeout: 30_000 }, async () => {
  const right = createHash('md5');
  for (let at = 0; at < PIECES; at += 1) right.update(createPiece(at));
  const received = createHash('md5');
  const response = await get('many');
  for await (const piece of response.body ?? assert.fail()) {
    received.update(piece);
    await yieldToEventLoop();
  }
  assert.equal(received.digest('hex'), right.digest('hex'));
});

test('delivers an early rejection, also when the connection closes, and answers the next request', async () => {
  const form = new FormData();
  form.append('f', new Blob([Buffer.alloc(20 * 1024 * 1024)]), 'refused');
  form.append('g', new Blob([Buffer.alloc(10 * 1024 * 1024)]), 'more');
  for (const _ of [1, 2]) {
    const { status, body } = await post(form);
    assert.deepEqual([status, (body as { error: { message: string } }).error.message], [400, 'Full.']);
  }
  const body = `${filePart('refused', 'x'.repeat(8 * 1024 * 1024))}--b--\r\n`;
  using peer = connectRaw(server.port, rawPost([TYPE, `content-length: ${body.length}`, 'connection: close'], body));
  assert.match(await peer.readToEnd(), /^HTTP\/1\.1 400 .*Full\./s);
});

test('sends 100 Continue only if the body will be read', { timeout: 20_000 }, async () => {
  const EXPECT_CONTINUE = 'expect: 100-continue';
  const body = '--b\r\ncontent-disposition: form-data; name="n"\r\n\r\nv\r\n--b--';
  using accepted = connectRaw(server.port, rawPost([TYPE, `content-length: ${body.length}`, EXPECT_CONTINUE]));
  assert.match(await accepted.readUntil('\r\n\r\n'), /^HTTP\/1\.1 100 /);
  accepted.socket.write(body);
  assert.match(await accepted.readUntil('[['), /200 OK[^]*\[\["n","v"\]\]/);

  const chat = JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'Hi' }] });
  using json = connectRaw(
    server.port,
    chatRequest('', [EXPECT_CONTINUE]).replace('length: 0', `length: ${chat.length}`),
  );
  assert.match(await json.readUntil('\r\n\r\n'), /^HTTP\/1\.1 100 /);
  json.socket.write(chat);
  assert.match(await json.readUntil('"choices"'), /200 OK/);

  const refused: readonly (readonly [status: number, text: string])[] = [
    [413, rawPost([TYPE, 'content-length: 1000000000', EXPECT_CONTINUE])],
    [400, rawPost(['content-type: text/plain', 'content-length: 9', EXPECT_CONTINUE])],
    [401, rawPost([TYPE, 'content-length: 9', EXPECT_CONTINUE]).replace('sk-good', 'sk-none')],
    [404, rawPost([TYPE, 'content-length: 9', EXPECT_CONTINUE]).replace('/v1/take', '/v1/nothing')],
  ];
  for (const [status, text] of refused) {
    using peer = connectRaw(server.port, text);
    assert.match(await peer.readUntil('\r\n\r\n'), new RegExp(`^HTTP/1\\.1 ${status} `));
  }
});

test('rejects a body above the limit with 413, announced or not', async () => {
  using announced = connectRaw(server.port, rawPost([TYPE, `content-length: ${41 * 1024 * 1024}`]));
  assert.match(await announced.readUntil('request_id'), /^HTTP\/1\.1 413 .*at most 41943040 bytes/s);
  const endless = (async function* () {
    yield Buffer.from(filePart('a', '').trimEnd());
    yield Buffer.from('\r\n\r\n');
    for (let at = 0; at < 41; at += 1) yield Buffer.alloc(1024 * 1024);
  })();
  const response = await fetch(`${server.url}/v1/take`, {
    method: 'POST',
    headers: { ...good, 'content-type': 'multipart/form-data; boundary=b' },
    body: Readable.toWeb(Readable.from(endless)) as ReadableStream<Uint8Array>,
    duplex: 'half',
  } as RequestInit);
  assert.equal(response.status, 413);
});

test('cancels the upload when the client disconnects', { timeout: 20_000 }, async () => {
  errorKinds = [];
  const peer = connectRaw(server.port, rawPost([TYPE, 'content-length: 1000'], filePart('a', 'x').slice(0, 60)));
  await new Promise((resolve) => peer.socket.once('connect', resolve));
  peer.socket.end();
  await peer.readToEnd();
  while (errorKinds.length === 0) await yieldToEventLoop();
  assert.deepEqual(errorKinds, ['cancelled']);
});

test('answers a client that stops sending with 408', async () => {
  using peer = connectRaw(
    shortTimeoutServer.port,
    rawPost([TYPE, 'content-length: 1000'], filePart('a', 'x').slice(0, 60)),
  );
  assert.match(await peer.readToEnd(), /^HTTP\/1\.1 408 /);
});

const broken: readonly (readonly [string, readonly string[], string, RegExp])[] = [
  ['no content type', [], '{}', /multipart\/form-data with a boundary/],
  ['JSON', ['content-type: application/json'], '{}', /multipart\/form-data with a boundary/],
  ['no boundary', ['content-type: multipart/form-data'], 'x', /with a boundary/],
  ['a compressed body', [TYPE, 'content-encoding: gzip'], 'x', /Content-Encoding must be identity/],
  ['no body', [TYPE], '', /ends before its closing boundary/],
  ['the end too early', [TYPE], filePart('a', 'x'), /ends before its closing boundary/],
  ['a part without a name', [TYPE], '--b\r\nA: 1\r\n\r\nx\r\n--b--', /a part has no name/],
  [
    'a part that is no form data',
    [TYPE],
    '--b\r\ncontent-disposition: attachment; name=a\r\n\r\nx\r\n--b--',
    /has no name/,
  ],
  [
    'a field too long',
    [TYPE],
    `--b\r\ncontent-disposition: form-data; name=a\r\n\r\n${'x'.repeat(16_385)}\r\n--b--`,
    /more than 16384 bytes/,
  ],
  [
    'a field that is no text',
    [TYPE],
    '--b\r\ncontent-disposition: form-data; name=a\r\n\r\n\u0000LATIN\r\n--b--',
    /not valid UTF-8/,
  ],
  ['too many files', [TYPE], `${filePart('skipped', '').repeat(101)}--b--`, /more than 100 files/],
  ['headers too long', [TYPE], `--b\r\na: ${'x'.repeat(17_000)}\r\n\r\nx\r\n--b--`, /at most 16384 bytes/],
];
for (const [name, lines, text, message] of broken) {
  test(`rejects an upload with ${name}`, async () => {
    const body = Buffer.from(text.replace('\u0000LATIN', '\u0001'), 'latin1').map((byte) => (byte === 1 ? 0xff : byte));
    using peer = connectRaw(server.port, rawPost([...lines, `content-length: ${body.length}`, 'connection: close']));
    peer.socket.write(body);
    const answer = await peer.readToEnd();
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, message);
  });
}

const ranges: readonly (readonly [string, string | undefined, number, string, string | null])[] = [
  ['nothing', undefined, 200, '0123456789', null],
  ['the first', 'bytes=0-0', 206, '0', 'bytes 0-0/10'],
  ['a middle', 'bytes=3-5', 206, '345', 'bytes 3-5/10'],
  ['a rest', 'bytes=7-', 206, '789', 'bytes 7-9/10'],
  ['an end', 'bytes=-2', 206, '89', 'bytes 8-9/10'],
  ['a longer end', 'bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
  ['beyond the end in part', 'bytes=8-99', 206, '89', 'bytes 8-9/10'],
  ['several', 'bytes=0-1,3-4', 200, '0123456789', null],
  ['the wrong way round', 'bytes=5-3', 200, '0123456789', null],
  ['other units', 'lines=1-2', 200, '0123456789', null],
];
for (const [name, range, status, text, contentRange] of ranges) {
  test(`answers the range: ${name}`, async () => {
    const response = await get('all', range === undefined ? {} : { range });
    assert.deepEqual([response.status, await response.text()], [status, text]);
    assert.equal(response.headers.get('content-range'), contentRange);
    assert.equal(response.headers.get('content-length'), String(text.length));
    assert.equal(response.headers.get('accept-ranges'), 'bytes');
  });
}

test('rejects a range behind the end with 416, and every range of an empty file', async () => {
  for (const [file, range, size] of [
    ['all', 'bytes=10-', 10],
    ['all', 'bytes=-0', 10],
    ['empty', 'bytes=0-', 0],
  ] as const) {
    const response = await get(file, { range });
    assert.deepEqual([response.status, response.headers.get('content-range')], [416, `bytes */${size}`]);
    assert.match(await response.text(), /starts after the end of the file, which has \d+ bytes/);
  }
  assert.deepEqual([(await get('empty')).status, await (await get('empty')).text()], [200, '']);
});

test('ignores a range for another version of the file, and opens no file for HEAD', async () => {
  assert.equal((await get('all', { range: 'bytes=0-0', 'if-range': '"other"' })).status, 200);
  assert.equal((await get('all', { range: 'bytes=0-0', 'if-range': '"tag"' })).status, 206);
  const head = await get('missing', {}, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length'), head.headers.get('x-own')], [200, '10', '1']);
  assert.equal((await get('missing')).status, 404);
});

test('ignores ranges of HEAD', async () => {
  for (const range of ['bytes=0-1', 'bytes=50-']) {
    const head = await get('all', { range }, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, '10']);
    assert.equal(head.headers.get('content-range'), null);
  }
});

test('breaks the connection when the bytes of a file break off', { timeout: 20_000 }, async () => {
  const isBrokenDownload = ({ operation, kind }: LogFields) => operation === 'test.give' && kind === 'internal';
  assert.ok(!server.logLines.some(isBrokenDownload));
  await assert.rejects(async () => (await get('broken')).text());
  // Wait for the log line of this request; other requests have the same operation.
  while (!server.logLines.some(isBrokenDownload)) await yieldToEventLoop();
});

test('lets an endpoint resolve the owner itself and rejects other requests', async () => {
  const ask = async (query: string) => (await fetch(`${server.url}/signed/all${query}`)).status;
  assert.deepEqual([await ask('?s=right'), await ask('?s=wrong'), await ask('')], [200, 403, 403]);
});
