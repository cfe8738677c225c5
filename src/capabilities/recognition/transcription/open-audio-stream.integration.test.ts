import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { openAudioStream } from './open-audio-stream.ts';

/** Decodes a recording of the fixtures, sent in pieces, and counts its samples. */
async function countSamples(format: string, file: string): Promise<number> {
  const stream = openAudioStream({ format, sampleRate: 16_000 });
  const bytes = await readFile(new URL(`../audio/__fixtures__/${file}`, import.meta.url));
  const sent = (async () => {
    for (let at = 0; at < bytes.length; at += 1_000) await stream.push(Uint8Array.from(bytes.subarray(at, at + 1_000)));
    await stream.end();
  })();
  let samples = 0;
  for await (const event of stream.events) {
    if (event.type === 'failed') throw new Error(event.reason);
    if (event.type === 'sound') samples += event.samples.length;
  }
  await sent;
  await stream.close();
  return samples;
}

for (const [format, file] of [
  ['mp3', 'speech.mp3'],
  ['aac', 'speech.aac'],
  ['opus', 'speech.opus'],
] as const) {
  test(`decodes ${format} in pieces`, async () => {
    const samples = await countSamples(format, file);
    assert.ok(samples > 8_000, String(samples));
  });
}

test('rejects bytes that are not audio', async () => {
  await assert.rejects(countSamples('opus', 'README.md'), /audio/);
});
