import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { inputOf, read, recording } from './__fixtures__/recordings.ts';

/** The same numbers each time. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * below);
  };
}

const NAMES = [
  'speech.flac',
  's24.wav',
  'speech.mp3',
  'vorbis.ogg',
  'speech.opus',
  'beats.aac',
  'index-first.m4a',
  'index-last.m4a',
  'fragments.mp4',
];
const TIMES = 112;
/** Each of these begins a library anew. */
const TIMES_BY_LIBRARY = 28;
const timesOf = (name: string): number => (/\.(mp3|opus)$/.test(name) ? TIMES_BY_LIBRARY : TIMES);

/** What was changed: single bytes, a stretch that is missing or there twice, numbers of four bytes. */
function mutate(bytes: Uint8Array, random: (below: number) => number): Uint8Array {
  const changed = Buffer.from(bytes);
  const near = random(2) === 0 ? Math.min(400, changed.length) : changed.length;
  for (let n = random(8); n >= 0; n--) changed[random(near)] = random(256);
  const from = random(changed.length);
  switch (random(5)) {
    case 0:
      return Buffer.concat([changed.subarray(0, from), changed.subarray(from + random(200))]);
    case 1:
      return Buffer.concat([changed.subarray(0, from), changed.subarray(Math.max(0, from - random(3_000)))]);
    case 2:
      changed.writeUInt32BE([0, 1, 0x7fff_ffff, 0xffff_ffff][random(4)] ?? 0, random(near - 4));
      return changed;
    default:
      return changed;
  }
}

describe('recordings that were made to do harm', () => {
  // Libraries say on the console what they did not understand.
  mock.method(console, 'error', () => undefined);

  for (const [index, name] of NAMES.entries()) {
    test(`${name}, changed ${timesOf(name)} times, ends each time with sound or a reason, and soon`, async () => {
      const bytes = recording(name);
      const random = createRandom(index + 1);
      for (let turn = 0; turn < timesOf(name); turn++) {
        const before = process.cpuUsage();
        const { end, samples } = await read(inputOf(mutate(bytes, random)));
        const { user } = process.cpuUsage(before);
        assert.ok(user < 5_000_000, `turn ${turn} took ${user / 1000} ms`);
        assert.ok(end.type === 'end' || /^The audio [a-z][^\n]+\.$/.test(end.reason));
        assert.ok(
          samples.every((sample) => Number.isFinite(sample)),
          `turn ${turn} made numbers that are none`,
        );
      }
    });
  }

  test('bytes by chance are no recording, whatever they begin with', async () => {
    const random = createRandom(77);
    const starts = [
      '',
      'fLaC\0\0\0\x22',
      'OggS\0\x02',
      'RIFF\xff\xff\xff\xffWAVEfmt ',
      '\0\0\0\x18ftypM4A ',
      '\xff\xf1\x50\x80',
      '\xff\xfb\x90\x64',
      'ID3\x04\0\0',
    ];
    for (let turn = 0; turn < 96; turn++) {
      const bytes = Buffer.from(Array.from({ length: 20_000 }, () => random(256)));
      const { samples } = await read(
        inputOf(Buffer.concat([Buffer.from(starts[turn % starts.length] ?? '', 'latin1'), bytes])),
      );
      assert.ok(samples.every((sample) => Number.isFinite(sample)));
    }
  });
});
