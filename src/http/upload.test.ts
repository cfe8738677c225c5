import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { Facts } from '../core/telemetry.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { json } from '../protocols/endpoint.ts';
import { chatRequest, connectRaw, startHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';

const BYTES = Buffer.from('0123456789');
let ended: string[] = [];

/** Tells what came in; refuses a file called refused before it is read. */
const take: Endpoint = {
  operation: 'test.take',
  method: 'POST',
  path: '/compatible-mode/v1/take',
  family: 'compatible',
  regions: ['cn-beijing'],
  onDisconnect: 'finish',
  uploadBytesMax: 40 * 1024 * 1024,
  async handle({ upload, body }) {
    assert.equal(body, undefined);
    const told: unknown[] = [];
    try {
      for await (const part of upload ?? assert.fail()) {
        if (part.type === 'field') told.push([part.name, part.value]);
        else if (part.fileName === 'refused') throw new ServiceError('storage-quota', 'Full.');
        else if (part.fileName === 'skipped') told.push([part.name, part.fileName]);
        else {
          const hash = createHash('md5');
          let size = 0;
          for await (const piece of part.bytes) {
            hash.update(piece);
            size += piece.byteLength;
          }
          told.push([part.name, part.fileName, size, hash.digest('hex')]);
        }
      }
    } catch (thrown) {
      ended.push(ServiceError.from(thrown).kind);
      throw thrown;
    }
    return json(told);
  },
};

const give: Endpoint = {
  operation: 'test.give',
  method: 'GET',
  path: '/compatible-mode/v1/give/:how',
  family: 'compatible',
  regions: ['cn-beijing'],
  onDisconnect: 'cancel',
  async handle({ params }) {
    const how = params['how'];
    const bytes = how === 'empty' ? Buffer.alloc(0) : BYTES;
    return {
      type: 'bytes',
      sizeBytes: how === 'many' ? PIECES * PIECE_BYTES : bytes.length,
      tag: 'tag',
      headers: { 'content-type': 'application/octet-stream', 'x-own': '1' },
      async open(range) {
        if (how === 'missing') throw new ServiceError('file-not-found', 'File not found.');
        if (how === 'broken') return Readable.from(breaking());
        if (how === 'many') return Readable.from(pieces());
        return Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)]);
      },
    };
  },
};

/** In memory of their own, as a disk and a socket give them. */
const PIECES = 2000;
const PIECE_BYTES = 10_000;
const pieceAt = (at: number): Buffer => Buffer.allocUnsafeSlow(PIECE_BYTES).fill(`piece ${at} `);

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < PIECES; at += 1) yield pieceAt(at);
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield BYTES.subarray(0, 3);
  throw new Error('the disk is gone');
}

const signed: Endpoint = {
  ...give,
  operation: 'test.signed',
  path: '/signed/:how',
  async ownerOf({ query }) {
    if (query.get('s') !== 'right') throw new ServiceError('forbidden', 'No.');
    return { workspace: 'w', region: 'cn-beijing', keyId: 'key_1' };
  },
};

let front: TestHttp;
let impatient: TestHttp;
before(async () => {
  const more = [take, give, signed];
  front = await startHttp({ more });
  impatient = await startHttp({ more, limits: { uploadStallMs: 150, requestReceiveMs: 100_000 } });
});
after(async () => {
  await front[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
});

const good = { authorization: 'Bearer sk-good' };
const post = async (form: FormData): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${front.url}/v1/take`, { method: 'POST', headers: good, body: form });
  return { status: response.status, body: await response.json() };
};
const get = (how: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${front.url}/v1/give/${how}`, { headers: { ...good, ...headers }, ...init });

const rawPost = (lines: readonly string[], body = ''): string =>
  ['POST /v1/take HTTP/1.1', 'host: x', 'authorization: Bearer sk-good', ...lines, '', body].join('\r\n');
const TYPE = 'content-type: multipart/form-data; boundary=b';
const filePart = (name: string, bytes: string) =>
  `--b\r\ncontent-disposition: form-data; name="f"; filename="${name}"\r\n\r\n${bytes}\r\n`;

test('fields and files come in order, with their bytes', async () => {
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

test('a field that comes in many pieces is whole', async () => {
  const value = Array.from({ length: 200 }, (_, at) => `piece ${at} `).join('');
  const head = '--b\r\ncontent-disposition: form-data; name="f"\r\n\r\n';
  async function* slowly(): AsyncGenerator<Uint8Array> {
    for (const piece of [head, ...(value.match(/.{1,20}/g) ?? []), '\r\n--b--']) {
      yield Buffer.from(piece);
      await turn();
    }
  }
  const response = await fetch(`${front.url}/v1/take`, {
    method: 'POST',
    headers: { ...good, 'content-type': 'multipart/form-data; boundary=b' },
    body: Readable.toWeb(Readable.from(slowly())) as ReadableStream,
    duplex: 'half',
  } as RequestInit);
  assert.deepEqual(await response.json(), [['f', value]]);
});

test('a reader who is slower than we are has every byte as it was', { timeout: 30_000 }, async () => {
  const right = createHash('md5');
  for (let at = 0; at < PIECES; at += 1) right.update(pieceAt(at));
  const told = createHash('md5');
  const response = await get('many');
  for await (const piece of response.body ?? assert.fail()) {
    told.update(piece);
    await turn();
  }
  assert.equal(told.digest('hex'), right.digest('hex'));
});

test('a refusal before the end is heard, also where the connection closes with it, and the next request is answered', async () => {
  const form = new FormData();
  form.append('f', new Blob([Buffer.alloc(20 * 1024 * 1024)]), 'refused');
  form.append('g', new Blob([Buffer.alloc(10 * 1024 * 1024)]), 'more');
  for (const _ of [1, 2]) {
    const { status, body } = await post(form);
    assert.deepEqual([status, (body as { error: { message: string } }).error.message], [400, 'Full.']);
  }
  const body = `${filePart('refused', 'x'.repeat(8 * 1024 * 1024))}--b--\r\n`;
  using peer = connectRaw(front.port, rawPost([TYPE, `content-length: ${body.length}`, 'connection: close'], body));
  assert.match(await peer.rest(), /^HTTP\/1\.1 400 .*Full\./s);
});

test(
  'a sender who waits for leave gets it when the body is wanted, and never where it is not',
  { timeout: 20_000 },
  async () => {
    const waits = 'expect: 100-continue';
    const body = '--b\r\ncontent-disposition: form-data; name="n"\r\n\r\nv\r\n--b--';
    using wanted = connectRaw(front.port, rawPost([TYPE, `content-length: ${body.length}`, waits]));
    assert.match(await wanted.until('\r\n\r\n'), /^HTTP\/1\.1 100 /);
    wanted.socket.write(body);
    assert.match(await wanted.until('[['), /200 OK[^]*\[\["n","v"\]\]/);

    const chat = JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'Hi' }] });
    using json = connectRaw(front.port, chatRequest('', [waits]).replace('length: 0', `length: ${chat.length}`));
    assert.match(await json.until('\r\n\r\n'), /^HTTP\/1\.1 100 /);
    json.socket.write(chat);
    assert.match(await json.until('"choices"'), /200 OK/);

    const refused: readonly (readonly [status: number, text: string])[] = [
      [413, rawPost([TYPE, 'content-length: 1000000000', waits])],
      [400, rawPost(['content-type: text/plain', 'content-length: 9', waits])],
      [401, rawPost([TYPE, 'content-length: 9', waits]).replace('sk-good', 'sk-none')],
      [404, rawPost([TYPE, 'content-length: 9', waits]).replace('/v1/take', '/v1/nothing')],
    ];
    for (const [status, text] of refused) {
      using peer = connectRaw(front.port, text);
      assert.match(await peer.until('\r\n\r\n'), new RegExp(`^HTTP/1\\.1 ${status} `));
    }
  },
);

test('more than may come is 413, announced or not', async () => {
  using announced = connectRaw(front.port, rawPost([TYPE, `content-length: ${41 * 1024 * 1024}`]));
  assert.match(await announced.until('request_id'), /^HTTP\/1\.1 413 .*at most 41943040 bytes/s);
  const endless = (async function* () {
    yield Buffer.from(filePart('a', '').trimEnd());
    yield Buffer.from('\r\n\r\n');
    for (let at = 0; at < 41; at += 1) yield Buffer.alloc(1024 * 1024);
  })();
  const response = await fetch(`${front.url}/v1/take`, {
    method: 'POST',
    headers: { ...good, 'content-type': 'multipart/form-data; boundary=b' },
    body: Readable.toWeb(Readable.from(endless)) as ReadableStream<Uint8Array>,
    duplex: 'half',
  } as RequestInit);
  assert.equal(response.status, 413);
});

test('whoever leaves in the middle has sent nothing', { timeout: 20_000 }, async () => {
  ended = [];
  const peer = connectRaw(front.port, rawPost([TYPE, 'content-length: 1000'], filePart('a', 'x').slice(0, 60)));
  await new Promise((resolve) => peer.socket.once('connect', resolve));
  peer.socket.end();
  await peer.rest();
  while (ended.length === 0) await turn();
  assert.deepEqual(ended, ['cancelled']);
});

test('whoever stops sending is told that it takes too long', async () => {
  using peer = connectRaw(impatient.port, rawPost([TYPE, 'content-length: 1000'], filePart('a', 'x').slice(0, 60)));
  assert.match(await peer.rest(), /^HTTP\/1\.1 408 /);
});

const broken: readonly (readonly [string, readonly string[], string, RegExp])[] = [
  ['no content type', [], '{}', /multipart\/form-data, with a boundary/],
  ['JSON', ['content-type: application/json'], '{}', /multipart\/form-data, with a boundary/],
  ['no boundary', ['content-type: multipart/form-data'], 'x', /with a boundary/],
  ['a compressed body', [TYPE, 'content-encoding: gzip'], 'x', /Content-Encoding must be identity/],
  ['no body', [TYPE], '', /ends before its closing boundary/],
  ['the end too early', [TYPE], filePart('a', 'x'), /ends before its closing boundary/],
  ['a part without a name', [TYPE], '--b\r\nA: 1\r\n\r\nx\r\n--b--', /a part of it has no name/],
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
for (const [what, lines, text, message] of broken) {
  test(`an upload with ${what} is refused`, async () => {
    const body = Buffer.from(text.replace('\u0000LATIN', '\u0001'), 'latin1').map((byte) => (byte === 1 ? 0xff : byte));
    using peer = connectRaw(front.port, rawPost([...lines, `content-length: ${body.length}`, 'connection: close']));
    peer.socket.write(body);
    const answer = await peer.rest();
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
for (const [what, range, status, text, shown] of ranges) {
  test(`whoever asks for ${what} gets it`, async () => {
    const response = await get('all', range === undefined ? {} : { range });
    assert.deepEqual([response.status, await response.text()], [status, text]);
    assert.equal(response.headers.get('content-range'), shown);
    assert.equal(response.headers.get('content-length'), String(text.length));
    assert.equal(response.headers.get('accept-ranges'), 'bytes');
  });
}

test('what lies behind the end is no range, and an empty file has none', async () => {
  for (const [how, range, size] of [
    ['all', 'bytes=10-', 10],
    ['all', 'bytes=-0', 10],
    ['empty', 'bytes=0-', 0],
  ] as const) {
    const response = await get(how, { range });
    assert.deepEqual([response.status, response.headers.get('content-range')], [416, `bytes */${size}`]);
    assert.match(await response.text(), /behind the end/);
  }
  assert.deepEqual([(await get('empty')).status, await (await get('empty')).text()], [200, '']);
});

test('a range of other bytes is not honoured, and HEAD opens nothing', async () => {
  assert.equal((await get('all', { range: 'bytes=0-0', 'if-range': '"other"' })).status, 200);
  assert.equal((await get('all', { range: 'bytes=0-0', 'if-range': '"tag"' })).status, 206);
  const head = await get('missing', {}, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length'), head.headers.get('x-own')], [200, '10', '1']);
  assert.equal((await get('missing')).status, 404);
});

test('HEAD knows no ranges: it tells of the whole', async () => {
  for (const range of ['bytes=0-1', 'bytes=50-']) {
    const head = await get('all', { range }, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, '10']);
    assert.equal(head.headers.get('content-range'), null);
  }
});

test('bytes that break off never look whole', { timeout: 20_000 }, async () => {
  const isBroken = ({ operation, kind }: Facts) => operation === 'test.give' && kind === 'internal';
  assert.ok(!front.lines.some(isBroken));
  await assert.rejects(async () => (await get('broken')).text());
  // Its own line, which may come later: there are others of the same operation.
  while (!front.lines.some(isBroken)) await turn();
});

test('an endpoint may say itself whose request it is, and is closed to everybody else', async () => {
  const ask = async (query: string) => (await fetch(`${front.url}/signed/all${query}`)).status;
  assert.deepEqual([await ask('?s=right'), await ask('?s=wrong'), await ask('')], [200, 403, 403]);
});
