import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { takeIn } from './intake.ts';

async function* pieces(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield Buffer.alloc(size, size);
}

describe('an intake', () => {
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
      const intake = takeIn(pieces(...sizes), 10);
      const found: number[] = [];
      for await (const part of intake.parts) found.push(part.byteLength);
      assert.deepEqual(found, parts);
      assert.equal(
        intake.facts().sizeBytes,
        parts.reduce<number>((sum, part) => sum + part, 0),
      );
    });
  }

  it('has taken a piece whole when it asks for the next, whose memory may be the same', async () => {
    const room = Buffer.alloc(4);
    async function* source(): AsyncGenerator<Uint8Array> {
      for (const text of ['abcd', 'efgh', 'ijkl']) {
        room.write(text);
        yield room;
        room.fill(0);
      }
    }
    let whole = '';
    const intake = takeIn(source(), 5);
    for await (const part of intake.parts) whole += Buffer.from(part).toString();
    assert.equal(whole, 'abcdefghijkl');
    assert.equal(intake.facts().md5, '9fc9d606912030dca86582ed62595cf7');
  });

  it('tells the source to end when its reader does', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(10);
      } finally {
        end();
      }
    }
    for await (const _ of takeIn(source(), 10).parts) break;
    await ended;
  });
});
