import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { createTestInput, decodeTestAudio, readTestRecording } from './__fixtures__/test-recordings.ts';

/** Creates a generator with a fixed seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * below);
  };
}

const FILES = [
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
const MUTATIONS = 112;
/** Fewer mutations for formats that load a library each time. */
const LIBRARY_MUTATIONS = 28;
const getMutationCount = (name: string): number => (/\.(mp3|opus)$/.test(name) ? LIBRARY_MUTATIONS : MUTATIONS);

/** Changes bytes, removes or duplicates a part, or changes a number of four bytes. */
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

describe('readAudio with damaged recordings', () => {
  // The libraries write messages to the console.
  mock.method(console, 'error', () => undefined);

  for (const [index, name] of FILES.entries()) {
    test(`${name}, changed ${getMutationCount(name)} times, always ends soon with samples or a reason`, async () => {
      const bytes = readTestRecording(name);
      const random = createRandom(index + 1);
      for (let round = 0; round < getMutationCount(name); round++) {
        const before = process.cpuUsage();
        const { end, samples } = await decodeTestAudio(createTestInput(mutate(bytes, random)));
        const { user } = process.cpuUsage(before);
        assert.ok(user < 5_000_000, `turn ${round} took ${user / 1000} ms`);
        assert.ok(end.type === 'end' || /^The audio [a-z][^\n]+\.$/.test(end.reason));
        assert.ok(
          samples.every((sample) => Number.isFinite(sample)),
          `turn ${round} returned invalid samples`,
        );
      }
    });
  }

  test('handles random bytes after valid signatures', async () => {
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
    for (let round = 0; round < 96; round++) {
      const bytes = Buffer.from(Array.from({ length: 20_000 }, () => random(256)));
      const { samples } = await decodeTestAudio(
        createTestInput(Buffer.concat([Buffer.from(starts[round % starts.length] ?? '', 'latin1'), bytes])),
      );
      assert.ok(samples.every((sample) => Number.isFinite(sample)));
    }
  });
});
