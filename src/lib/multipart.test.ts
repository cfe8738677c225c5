import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readParts } from './multipart.ts';

/** Each piece is gone when the next is asked for. */
async function* cut(whole: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < whole.length; turn += 1) {
    const end = at + (sizes[turn % sizes.length] ?? whole.length);
    const piece = Uint8Array.from(whole.subarray(at, end));
    yield piece;
    piece.fill(0);
    at = end;
  }
}

type Told = readonly (readonly [headers: object, bytes: string])[];

async function read(
  whole: string | Buffer,
  { sizes = [64], boundary = 'b', headerBytesMax = 1000 } = {},
): Promise<Told> {
  const told: [object, string][] = [];
  const source = cut(Buffer.from(whole), sizes);
  for await (const { headers, bytes } of readParts(source, boundary, { headerBytesMax })) {
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(Uint8Array.from(piece));
    told.push([Object.fromEntries(headers), Buffer.concat(pieces).toString('latin1')]);
  }
  return told;
}

const part = (bytes: string, header = 'A: 1') => `--b\r\n${header}\r\n\r\n${bytes}\r\n`;

test('parts come with their headers and their bytes, and with nothing around them', async () => {
  assert.deepEqual(await read(`before\r\n${part('one')}${part('', 'B:2\r\nC: 3 ')}--b--\r\nbehind`), [
    [{ a: '1' }, 'one'],
    [{ b: '2', c: '3' }, ''],
  ]);
  assert.deepEqual(await read('--b\r\n\r\nx\r\n--b--'), [[{}, 'x']]);
  assert.deepEqual(await read('--b  \r\nA: 1\r\n\r\nx\r\n--b--'), [[{ a: '1' }, 'x']]);
  assert.deepEqual(await read('--b--'), []);
});

test('what only looks like a boundary is part of the bytes', async () => {
  for (const bytes of ['\r\n', '\r\n--', '--b', '\r\n--c', '\n--b\r\n', '\r\r\n--a', '--b--', '\r\n\r\n--']) {
    assert.deepEqual(await read(`${part(bytes)}--b--`), [[{ a: '1' }, bytes]], JSON.stringify(bytes));
  }
});

test('however a body is cut, it says the same', async () => {
  const pieces = fc.array(
    fc.constantFrom('\r', '\n', '\r\n', '-', '--', '\r\n--', 'boundary', '\r\n--bound', 'x', '\0'),
    { maxLength: 12 },
  );
  const bodies = fc.array(
    pieces.map((list) => list.join('')),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(
      bodies,
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      async (parts, sizes) => {
        fc.pre(!parts.some((each) => `\r\n${each}\r\n`.includes('\r\n--boundary')));
        const whole = `${parts.map((each, at) => `--boundary\r\nN: ${at}\r\n\r\n${each}\r\n`).join('')}--boundary--\r\n`;
        const told = await read(whole, { sizes, boundary: 'boundary' });
        assert.deepEqual(
          told,
          parts.map((each, at) => [{ n: String(at) }, each]),
        );
      },
    ),
    { numRuns: 300 },
  );
});

test('what is not read of a part is passed over', async () => {
  const names: unknown[] = [];
  const source = cut(Buffer.from(`${part('x'.repeat(1000))}${part('second')}${part('third')}--b--`), [7]);
  for await (const { bytes } of readParts(source, 'b', { headerBytesMax: 100 })) {
    for await (const piece of bytes) {
      names.push(Buffer.from(piece).toString()[0]);
      break;
    }
  }
  assert.deepEqual(names, ['x', 's', 't']);
});

const refusals: readonly (readonly [string, string | Buffer, RegExp, object?])[] = [
  ['nothing', '', /ends before its closing boundary/],
  ['another boundary', '--c\r\nA: 1\r\n\r\nx\r\n--c--', /ends before/],
  ['the end in a part', part('x'), /ends before/],
  ['the end in a header', '--b\r\nA: 1', /ends before/],
  ['the end in the closing boundary', `${part('x')}--b-`, /ends before/],
  ['something behind a boundary', `--bc\r\n\r\nx\r\n--b--`, /followed by something/],
  ['headers without an end', `--b\r\n${'A: 1\r\n'.repeat(500)}`, /at most 1000 bytes/],
  ['a header without a name', '--b\r\n: 1\r\n\r\nx\r\n--b--', /cannot be read/],
  ['a header without a colon', '--b\r\nA 1\r\n\r\nx\r\n--b--', /cannot be read/],
  ['a header over two lines', '--b\r\nA: 1\r\n 2\r\n\r\nx\r\n--b--', /cannot be read/],
  ['a bare line break in a header', '--b\r\nA: 1\n2\r\n\r\nx\r\n--b--', /cannot be read/],
  ['no boundary at all', '', /its boundary is none/, { boundary: '' }],
  ['a boundary that ends with a space', '', /its boundary is none/, { boundary: 'a ' }],
  ['a boundary too long', '', /its boundary is none/, { boundary: 'a'.repeat(71) }],
];
for (const [what, body, message, options] of refusals) {
  test(`a body with ${what} is refused`, () =>
    assert.rejects(read(body, options), { name: 'MultipartError', message }));
}

test('a part of many megabytes is never gathered', async () => {
  const piece = Buffer.alloc(1024 * 1024, 120);
  const source = (async function* () {
    yield Buffer.from('--b\r\n\r\n');
    for (let at = 0; at < 64; at += 1) yield piece;
    yield Buffer.from('\r\n--b--');
  })();
  let largest = 0;
  let size = 0;
  for await (const { bytes } of readParts(source, 'b', { headerBytesMax: 10 })) {
    for await (const each of bytes) {
      largest = Math.max(largest, each.byteLength);
      size += each.byteLength;
    }
  }
  assert.deepEqual([size, largest <= piece.length + 10], [64 * piece.length, true]);
});
