import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type InputLine, readLines } from './read-lines.ts';

const MAX = 40;

/** Yields the bytes in pieces that end at these offsets. */
async function* splitBytes(bytes: Buffer, offsets: readonly number[]): AsyncGenerator<Uint8Array> {
  const ends = [...new Set(offsets.map((offset) => offset % (bytes.length + 1)))].toSorted((one, other) => one - other);
  let from = 0;
  // A copy, because the reader releases the memory of a piece.
  for (const end of [...ends, bytes.length]) {
    yield Uint8Array.from(bytes.subarray(from, end));
    from = end;
  }
}

async function createLines(
  bytes: Buffer,
  offsets: readonly number[] = [],
): Promise<readonly (readonly [number, string])[]> {
  const lines: InputLine[] = [];
  for await (const line of readLines(splitBytes(bytes, offsets), { lineBytesMax: MAX })) lines.push(line);
  return lines.map((line) => [line.line, line.type === 'text' ? line.bytes.toString() : `! ${line.reason}`]);
}

const TOO_LONG = `! A line may have at most ${MAX} bytes.`;
const NOT_UTF8 = '! This line is not valid UTF-8.';

const CASES: readonly (readonly [string, Buffer, readonly (readonly [number, string])[]])[] = [
  ['nothing', Buffer.from(''), []],
  ['a byte order mark and nothing', Buffer.from('\ufeff'), []],
  ['nothing but blank lines', Buffer.from('\n \t\r\n\n'), []],
  [
    'a last line without an end',
    Buffer.from('a\nb'),
    [
      [1, 'a'],
      [2, 'b'],
    ],
  ],
  [
    'a last line with one',
    Buffer.from('a\nb\n'),
    [
      [1, 'a'],
      [2, 'b'],
    ],
  ],
  [
    'ends of both kinds, and blank lines that count',
    Buffer.from('a\r\n\r\nb\n\nc\r'),
    [
      [1, 'a'],
      [3, 'b'],
      [5, 'c'],
    ],
  ],
  [
    'a byte order mark before the first line',
    Buffer.from('\ufeffa\n\ufeffb'),
    [
      [1, 'a'],
      [2, '\ufeffb'],
    ],
  ],
  ['a return inside a line', Buffer.from('a\rb\n'), [[1, 'a\rb']]],
  [
    'a line of just the length',
    Buffer.from(`${'é'.repeat(MAX / 2)}\r\nb`),
    [
      [1, 'é'.repeat(MAX / 2)],
      [2, 'b'],
    ],
  ],
  [
    'a first line of just the length',
    Buffer.from(`\ufeff${'a'.repeat(MAX)}\r\nb`),
    [
      [1, 'a'.repeat(MAX)],
      [2, 'b'],
    ],
  ],
  [
    'a line that is longer by one',
    Buffer.from(`a\n${'b'.repeat(MAX + 1)}\nc`),
    [
      [1, 'a'],
      [2, TOO_LONG],
      [3, 'c'],
    ],
  ],
  [
    'a last line that is much longer',
    Buffer.from(`a\n${'b'.repeat(MAX * 9)}`),
    [
      [1, 'a'],
      [2, TOO_LONG],
    ],
  ],
  [
    'blanks that are longer',
    Buffer.from(`${' '.repeat(MAX * 2)}\na`),
    [
      [1, TOO_LONG],
      [2, 'a'],
    ],
  ],
  [
    'half of a character',
    Buffer.from([0x61, 0x0a, 0xc3, 0x0a, 0x62]),
    [
      [1, 'a'],
      [2, NOT_UTF8],
      [3, 'b'],
    ],
  ],
  [
    'another encoding',
    Buffer.from('\ufeffa\n', 'utf16le'),
    [
      [1, NOT_UTF8],
      [2, '\0'],
    ],
  ],
];

describe('readLines', () => {
  for (const [what, bytes, lines] of CASES) {
    it(`splits an input with ${what}, whatever the pieces`, async () => {
      assert.deepEqual(await createLines(bytes), lines);
      assert.deepEqual(
        await createLines(
          bytes,
          Array.from(bytes, (_, at) => at),
        ),
        lines,
      );
    });
  }

  it('yields the same lines however the input is split', async () => {
    const piece = fc.constantFrom('a', '"é"', '😀', '\n', '\r\n', ' ', '\ufeff', 'x'.repeat(30), ' '.repeat(20));
    const bytes = fc.oneof(
      fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.from(pieces.join(''))),
      fc.uint8Array({ maxLength: 100 }).map((raw) => Buffer.from(raw)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.nat(200)), async (input, offsets) => {
        assert.deepEqual(await createLines(input, offsets), await createLines(input));
      }),
    );
  });

  it('does not fill the memory with an endless line', async () => {
    const piece = 1024 * 1024;
    let held = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 256; count += 1) {
        yield new Uint8Array(piece).fill(0x61);
        held = Math.max(held, process.memoryUsage().arrayBuffers);
      }
    }
    const before = process.memoryUsage().arrayBuffers;
    const lines: InputLine[] = [];
    for await (const line of readLines(endless(), { lineBytesMax: 4 * piece })) lines.push(line);
    assert.equal(lines.length, 1);
    assert.equal(lines[0]?.type, 'unreadable');
    assert.ok(held - before < 32 * piece, `${(held - before) / piece} MiB in memory`);
  });

  it('skips millions of blank lines quickly', async () => {
    const pieces = 24;
    const blank = Buffer.from('\r\n \n\n'.repeat(175_000));
    async function* mostlyBlank(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < pieces; count += 1) yield new Uint8Array(blank);
      yield Uint8Array.from(Buffer.from('a'));
    }
    const before = process.cpuUsage();
    const lines = await Array.fromAsync(readLines(mostlyBlank(), { lineBytesMax: MAX }));
    assert.deepEqual(
      lines.map(({ line }) => line),
      [pieces * 3 * 175_000 + 1],
    );
    // A fraction of a second of CPU time; most of a minute if each blank line were handled on its own.
    const { user } = process.cpuUsage(before);
    assert.ok(user < 4_000_000, `it took ${user / 1000} ms`);
  });
});
