import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inputOf, read, recording } from './__fixtures__/recordings.ts';
import { wavFile } from './__fixtures__/wav-file.ts';
import { createAudioStream, type AudioStream } from './audio-stream.ts';

async function feed(stream: AudioStream, bytes: Uint8Array, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) await stream.push(bytes.subarray(at, at + size));
  await stream.end();
}

const STREAMS = ['mulaw.wav', 'speech.mp3', 'speech.aac', 'speech.opus'];

describe('a stream of sound', () => {
  for (const name of STREAMS) {
    test(`of ${name} is what a file of it is`, async () => {
      const expected = await read(inputOf(recording(name)));
      const stream = createAudioStream();
      const fed = feed(stream, recording(name), 640);
      const samples: number[] = [];
      for await (const event of stream.events) {
        if (event.type === 'sound') samples.push(...event.samples);
        else assert.deepEqual(event, expected.end);
      }
      await fed;
      await stream.close();
      assert.deepEqual(Float32Array.from(samples), expected.samples);
    });
  }

  test('gives what was spoken while it goes on', async () => {
    const stream = createAudioStream();
    const events = stream.events[Symbol.asyncIterator]();
    await stream.push(wavFile(new Uint8Array(8_000), { sampleRate: 8_000, statedBytes: 16_000 }));
    const first = await events.next();
    assert.ok(first.value?.type === 'sound' && first.value.samples.length === 1_600);
    await stream.push(new Uint8Array(8_000));
    await stream.end();
    let seconds = 0.1;
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (next.value.type === 'sound') seconds += next.value.samples.length / 16_000;
      else assert.ok(next.value.type === 'end' && next.value.report.durationMs === 1_000);
    }
    assert.equal(seconds.toFixed(3), '1.000');
    await stream.close();
  });

  test('of nothing, or of something else, says so', async () => {
    for (const [bytes, reason] of [
      [Buffer.alloc(0), 'The audio is empty.'],
      [Buffer.from('this is no sound at all'), 'The audio is of a kind that is not known, or no recording.'],
    ] as const) {
      const stream = createAudioStream();
      await feed(stream, bytes, 10);
      const [event, ...others] = await Array.fromAsync(stream.events);
      assert.ok(event?.type === 'failed' && others.length === 0);
      assert.equal(event.reason, reason);
      await stream.close();
    }
  });

  test('that is closed ends at once, while it is being fed', async () => {
    const stream = createAudioStream();
    const fed = feed(stream, wavFile(new Uint8Array(50_000_000)), 1_000_000);
    await stream.close();
    await fed;
  });
});
