import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestInput, decodeTestAudio, readTestRecording } from './__fixtures__/test-recordings.ts';
import { createTestWavFile } from './__fixtures__/test-wav-file.ts';
import { createDecoderStream, type DecoderStream } from './decoder-stream.ts';

async function feed(stream: DecoderStream, bytes: Uint8Array, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) await stream.push(bytes.subarray(at, at + size));
  await stream.end();
}

const FILES = ['mulaw.wav', 'speech.mp3', 'speech.aac', 'speech.opus'];

describe('DecoderStream', () => {
  for (const name of FILES) {
    test(`decodes ${name} like a file`, async () => {
      const expected = await decodeTestAudio(createTestInput(readTestRecording(name)));
      const stream = createDecoderStream();
      const fed = feed(stream, readTestRecording(name), 640);
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

  test('emits samples before the end of the input', async () => {
    const stream = createDecoderStream();
    const events = stream.events[Symbol.asyncIterator]();
    await stream.push(createTestWavFile(new Uint8Array(8_000), { sampleRate: 8_000, statedBytes: 16_000 }));
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

  test('rejects empty input and unknown formats', async () => {
    for (const [bytes, reason] of [
      [Buffer.alloc(0), 'The audio is empty.'],
      [Buffer.from('this is no sound at all'), 'The audio is not in a known audio format.'],
    ] as const) {
      const stream = createDecoderStream();
      await feed(stream, bytes, 10);
      const [event, ...others] = await Array.fromAsync(stream.events);
      assert.ok(event?.type === 'failed' && others.length === 0);
      assert.equal(event.reason, reason);
      await stream.close();
    }
  });

  test('ends at once when it is closed during a push', async () => {
    const stream = createDecoderStream();
    const fed = feed(stream, createTestWavFile(new Uint8Array(50_000_000)), 1_000_000);
    await stream.close();
    await fed;
  });
});
