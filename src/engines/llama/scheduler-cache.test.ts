import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { PromptSegment } from '../../core/prompt.ts';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import type { CallOptions, Heard, Room, RoomOptions } from './__fixtures__/scheduler-room.ts';
import { createPrefixStore } from './prefix-store.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-cache-'));
after(() => rmSync(root, { recursive: true }));
let folders = 0;

/** A scheduler with an explicit cache; a token is a character. */
function createCacheRoom(options: RoomOptions = {}) {
  const folder = join(root, String(++folders));
  const time = { now: 0 };
  const prefixes = createPrefixStore({
    folder,
    clock: { monotonic: () => time.now },
    keepMs: 1_000,
    workspaceBytesMax: 1e9,
    workspaceEntriesMax: 64,
    totalBytesMax: 1e9,
    reserveBytes: 0,
    warn: () => undefined,
  });
  const room = createRoom({ contextTokens: 8_192, sequences: 1, prefixes, ...options });
  return { ...room, prefixes, folder, time };
}

const plain = (text: string) => ({ text, special: false });
const marked = (text: string) => ({ text, special: false, cacheMark: true as const });
/** A prompt of these pieces. */
const ask = (segments: readonly PromptSegment[], more: CallOptions = {}): CallOptions => ({
  input: { type: 'segments', segments },
  maxTokens: 2,
  ...more,
});
const seeded = { sampling: { seed: 7 } };

const counts = (heard: Heard): unknown[] => {
  const { cachedTokens, cacheCreationTokens, usesExplicitCache } = heard.finished().counts;
  return [cachedTokens, cacheCreationTokens, usesExplicitCache];
};

/** Others use all sequences. */
const overwrite = async (room: Room): Promise<void> => {
  for (let i = 0; i < room.model.sequences; i++)
    await room.run({ prompt: `${i}`.repeat(50), workspace: `other ${i}`, maxTokens: 1 });
};

const A = 'a'.repeat(1_600);
const B = 'b'.repeat(800);

describe('a marked beginning of a prompt', () => {
  it('survives in a file what evicts the live sequence, and is counted once', async () => {
    const room = createCacheRoom();
    const first = await room.run(ask([marked(A), plain('one')]));
    assert.deepEqual(counts(first), [0, 1_600, true]);
    await overwrite(room);
    const second = await room.run(ask([marked(A), plain('two')]));
    assert.deepEqual(counts(second), [1_600, 0, true]);
    const alone = await createRoom({ contextTokens: 8_192 }).run({ prompt: `${A}two`, maxTokens: 2 });
    assert.equal(second.text(), alone.text());
  });

  it('is hit by a longer one, which adds what it has more', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([plain(A), marked(B), plain('x')]))), [1_600, 800, true]);
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([plain(A), marked(B), plain('y')]))), [2_400, 0, true]);
    await overwrite(room);
    // The shorter one is still there for others.
    assert.deepEqual(counts(await room.run(ask([plain(A), marked('c'), plain('z')]))), [1_600, 0, true]);
  });

  it('is kept from a live sequence that holds more than it', async () => {
    const room = createCacheRoom();
    await room.run({ prompt: `${A}and so on`, maxTokens: 1 });
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('and so on!')]))), [1_609, 1_600, true]);
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('and not')]))), [1_600, 0, true]);
  });

  it('in a live sequence is not loaded, but its time begins anew', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    room.time.now = 900;
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('one more')]))), [1_603, 0, true]);
    room.time.now = 1_800;
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('two')]))), [1_600, 0, true]);
    room.time.now = 2_800;
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('two')]))), [0, 1_600, true]);
  });

  it('begins its time anew also where it serves a longer one', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    room.time.now = 900;
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([plain(A), marked(B), plain('x')]))), [1_600, 800, true]);
    room.time.now = 1_800;
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('y')]))), [1_600, 0, true]);
  });

  it('may be the whole prompt: its last token is evaluated again', async () => {
    const room = createCacheRoom();
    const first = await room.run(ask([marked(A)]));
    await overwrite(room);
    const again = await room.run(ask([marked(A)]));
    assert.deepEqual(counts(again), [1_599, 0, true]);
    assert.equal(again.text(), first.text());
  });

  it('shorter than the minimum creates nothing', async () => {
    const room = createCacheRoom();
    assert.deepEqual(counts(await room.run(ask([marked('a'.repeat(1_023)), plain('x')]))), [0, 0, undefined]);
    assert.deepEqual(counts(await room.run(ask([marked('b'.repeat(1_024)), plain('x')]))), [0, 1_024, true]);
    assert.equal((await readdir(room.folder)).length, 1);
  });

  it('is one of several', async () => {
    const room = createCacheRoom();
    const both = [marked(A), marked(B), plain('x')];
    assert.deepEqual(counts(await room.run(ask(both))), [0, 2_400, true]);
    assert.equal((await readdir(room.folder)).length, 2);
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('y')]))), [1_600, 0, true]);
  });

  it("is another workspace's own affair", async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('two')], { workspace: 'v' }))), [0, 1_600, true]);
  });

  it('is not told of where nothing was marked, and not looked for', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    await overwrite(room);
    assert.deepEqual(counts(await room.run({ prompt: `${A}two`, maxTokens: 1 })), [0, undefined, undefined]);
  });

  it('is written once by those that ask at the same time, and counts as used by that one only', async () => {
    const room = createCacheRoom({ sequences: 3 });
    const all = await Promise.all(['one', 'two', 'six'].map((end) => room.run(ask([marked(A), plain(end)]))));
    const usages = all.map(counts);
    assert.deepEqual(
      usages.toSorted((a, b) => Number(a[1]) - Number(b[1])),
      [
        [0, 0, undefined],
        [0, 0, undefined],
        [0, 1_600, true],
      ],
    );
    assert.equal((await readdir(room.folder)).length, 1);
  });

  it('that cannot be written costs nothing but the cache', async () => {
    const room = createCacheRoom({
      onSave: () => {
        throw new Error('no space left');
      },
    });
    const heard = await room.run(ask([marked(A), plain('one')]));
    assert.deepEqual(counts(heard), [0, 0, undefined]);
    assert.equal(heard.text().length, 2);
  });

  it('whose file is broken is evaluated anew, and written again', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    await overwrite(room);
    for (const name of await readdir(room.folder)) await truncate(join(room.folder, name), 10);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('two')]))), [0, 1_600, true]);
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('three')]))), [1_600, 0, true]);
  });

  it('serves all choices of a request', async () => {
    const room = createCacheRoom({ sequences: 2 });
    await room.run(ask([marked(A), plain('one')]));
    await overwrite(room);
    const heard = await room.run(ask([marked(A), plain('two')], { choices: 2 }));
    assert.deepEqual(counts(heard), [1_600, 0, true]);
    assert.equal(heard.text(0).length, heard.text(1).length);
  });
});

describe('a seeded run', () => {
  it('is cut in the same slices with a mark as without', async () => {
    const room = createCacheRoom();
    const slices = async (segments: readonly PromptSegment[]): Promise<number[]> => {
      const from = room.model.decodes.length;
      await room.run(ask(segments, seeded));
      return room.model.decodes
        .slice(from)
        .flat()
        .map(({ tokens }) => tokens.length);
    };
    const cut = await slices([marked(`${A}12345`), plain('and on')]);
    await overwrite(room);
    assert.deepEqual(cut, await slices([plain(`${A}12345and on`)]));
  });

  it('loads only what seeded runs wrote, and all others load that too', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')]));
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('two')], seeded))), [0, 1_600, true]);
    await overwrite(room);
    const again = await room.run(ask([marked(A), plain('two')], seeded));
    assert.deepEqual(counts(again), [1_600, 0, true]);
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([marked(A), plain('two')]))), [1_600, 0, true]);
    assert.equal((await readdir(room.folder)).length, 1);
  });

  it('takes of what an unseeded run went on from its own beginning', async () => {
    const room = createCacheRoom();
    await room.run(ask([marked(A), plain('one')], seeded));
    await overwrite(room);
    await room.run(ask([plain(A), marked(B), plain('one')]));
    await room.prefixes.settled();
    await overwrite(room);
    assert.deepEqual(counts(await room.run(ask([plain(A), marked(B), plain('two')], seeded))), [1_600, 800, true]);
  });
});
