import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPartReader } from './part-reader.ts';

async function* pieces(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield Buffer.alloc(size, size);
}

describe('part reader', () => {
  for (const [sizes, parts] of [
    [[], []],
    [[0], []],
    [[3], [3]],
    [[10], [10]],
    [
      [4, 4, 4],
      [10, 2],
    ],
    [
      [35, 5],
      [10, 10, 10, 10],
    ],
    [
      [9, 0, 1, 1],
      [10, 1],
    ],
  ] as const) {
    it(`cuts pieces of ${sizes.join(', ') || 'no'} bytes into parts of ${parts.join(', ') || 'none'}`, async () => {
      const reader = createPartReader(pieces(...sizes), 10);
      const partSizes: number[] = [];
      for await (const part of reader.pieces) partSizes.push(part.byteLength);
      assert.deepEqual(partSizes, parts);
      assert.equal(
        reader.getMetadata().sizeBytes,
        parts.reduce<number>((sum, part) => sum + part, 0),
      );
    });
  }

  it('has copied a piece before it pulls the next one, whose memory may be the same', async () => {
    const buffer = Buffer.alloc(4);
    async function* source(): AsyncGenerator<Uint8Array> {
      for (const text of ['abcd', 'efgh', 'ijkl']) {
        buffer.write(text);
        yield buffer;
        buffer.fill(0);
      }
    }
    let whole = '';
    const reader = createPartReader(source(), 5);
    for await (const part of reader.pieces) whole += Buffer.from(part).toString();
    assert.equal(whole, 'abcdefghijkl');
    assert.equal(reader.getMetadata().md5, '9fc9d606912030dca86582ed62595cf7');
  });

  it('returns the source when its consumer stops', async () => {
    const { promise: returned, resolve: onReturn } = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(10);
      } finally {
        onReturn();
      }
    }
    for await (const _ of createPartReader(source(), 10).pieces) break;
    await returned;
  });
});
