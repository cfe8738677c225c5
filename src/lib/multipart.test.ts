import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { parseMultipart } from './multipart.ts';

/**
 * Yields a body in chunks of the given sizes. Clears each chunk before the next, as a source that reuses its buffer.
 */
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

type ParsedParts = readonly (readonly [headers: object, bytes: string])[];

async function parseParts(
  whole: string | Buffer,
  { sizes = [64], boundary = 'b', headerBytesMax = 1000 } = {},
): Promise<ParsedParts> {
  const parsed: [object, string][] = [];
  const source = cut(Buffer.from(whole), sizes);
  for await (const { headers, bytes } of parseMultipart(source, boundary, { headerBytesMax })) {
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(Uint8Array.from(piece));
    parsed.push([Object.fromEntries(headers), Buffer.concat(pieces).toString('latin1')]);
  }
  return parsed;
}

const part = (bytes: string, header = 'A: 1') => `--b\r\n${header}\r\n\r\n${bytes}\r\n`;

test('yields parts with their headers and bytes, without preamble and epilogue', async () => {
  assert.deepEqual(await parseParts(`before\r\n${part('one')}${part('', 'B:2\r\nC: 3 ')}--b--\r\nbehind`), [
    [{ a: '1' }, 'one'],
    [{ b: '2', c: '3' }, ''],
  ]);
  assert.deepEqual(await parseParts('--b\r\n\r\nx\r\n--b--'), [[{}, 'x']]);
  assert.deepEqual(await parseParts('--b  \r\nA: 1\r\n\r\nx\r\n--b--'), [[{ a: '1' }, 'x']]);
  assert.deepEqual(await parseParts('--b--'), []);
});

test('keeps bytes that only resemble a boundary', async () => {
  for (const bytes of ['\r\n', '\r\n--', '--b', '\r\n--c', '\n--b\r\n', '\r\r\n--a', '--b--', '\r\n\r\n--']) {
    assert.deepEqual(await parseParts(`${part(bytes)}--b--`), [[{ a: '1' }, bytes]], JSON.stringify(bytes));
  }
});

test('yields the same parts for any division of a body into chunks', async () => {
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
        const parsed = await parseParts(whole, { sizes, boundary: 'boundary' });
        assert.deepEqual(
          parsed,
          parts.map((each, at) => [{ n: String(at) }, each]),
        );
      },
    ),
    { numRuns: scalePropertyRuns(300) },
  );
});

test('skips the unread rest of a part', async () => {
  const names: unknown[] = [];
  const source = cut(Buffer.from(`${part('x'.repeat(1000))}${part('second')}${part('third')}--b--`), [7]);
  for await (const { bytes } of parseMultipart(source, 'b', { headerBytesMax: 100 })) {
    for await (const piece of bytes) {
      names.push(Buffer.from(piece).toString()[0]);
      break;
    }
  }
  assert.deepEqual(names, ['x', 's', 't']);
});

const refusals: readonly (readonly [string, string | Buffer, RegExp, object?])[] = [
  ['nothing', '', /ends before its closing boundary/],
  ['a different boundary', '--c\r\nA: 1\r\n\r\nx\r\n--c--', /ends before/],
  ['an end inside a part', part('x'), /ends before/],
  ['an end inside a header', '--b\r\nA: 1', /ends before/],
  ['an end inside the closing boundary', `${part('x')}--b-`, /ends before/],
  ['text after a boundary', `--bc\r\n\r\nx\r\n--b--`, /followed by other text/],
  ['unterminated headers', `--b\r\n${'A: 1\r\n'.repeat(500)}`, /at most 1000 bytes/],
  ['a header without a name', '--b\r\n: 1\r\n\r\nx\r\n--b--', /header of a part is invalid/],
  ['a header without a colon', '--b\r\nA 1\r\n\r\nx\r\n--b--', /header of a part is invalid/],
  ['a header over two lines', '--b\r\nA: 1\r\n 2\r\n\r\nx\r\n--b--', /header of a part is invalid/],
  ['a bare line break in a header', '--b\r\nA: 1\n2\r\n\r\nx\r\n--b--', /header of a part is invalid/],
  ['an empty boundary', '', /its boundary is invalid/, { boundary: '' }],
  ['a boundary that ends with a space', '', /its boundary is invalid/, { boundary: 'a ' }],
  ['a boundary that is too long', '', /its boundary is invalid/, { boundary: 'a'.repeat(71) }],
];
for (const [description, body, message, options] of refusals) {
  test(`rejects a body with ${description}`, () =>
    assert.rejects(parseParts(body, options), { name: 'MultipartError', message }));
}

test('streams a large part without buffering it', async () => {
  const piece = Buffer.alloc(1024 * 1024, 120);
  const source = (async function* () {
    yield Buffer.from('--b\r\n\r\n');
    for (let at = 0; at < 64; at += 1) yield piece;
    yield Buffer.from('\r\n--b--');
  })();
  let largest = 0;
  let size = 0;
  for await (const { bytes } of parseMultipart(source, 'b', { headerBytesMax: 10 })) {
    for await (const each of bytes) {
      largest = Math.max(largest, each.byteLength);
      size += each.byteLength;
    }
  }
  assert.deepEqual([size, largest <= piece.length + 10], [64 * piece.length, true]);
});
