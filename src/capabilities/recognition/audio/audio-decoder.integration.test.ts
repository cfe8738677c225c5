import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { createTestInput, decodeTestAudio, readTestRecording } from './__fixtures__/test-recordings.ts';
import { createTestWavHeader } from './__fixtures__/test-wav-file.ts';
import type { DecodedAudioEvent } from './audio.ts';
import { createAudioDecoder, type AudioSource, type AudioDecoder, type AudioDecoderOptions } from './audio-decoder.ts';

const NEVER_ABORTED = new AbortController().signal;

const createSource = (bytes: Uint8Array, pieceBytes = 64 * 1024): AudioSource => ({
  sizeBytes: bytes.length,
  read: (from) =>
    Promise.resolve(
      (async function* pieces() {
        for (let at = from; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
      })(),
    ),
});

async function collect(
  events: AsyncIterable<DecodedAudioEvent>,
): Promise<{ readonly samples: number[]; readonly end: DecodedAudioEvent | undefined }> {
  const samples: number[] = [];
  let end: DecodedAudioEvent | undefined;
  for await (const event of events) {
    assert.equal(end, undefined, 'no event may follow the last one');
    if (event.type === 'sound') for (const sample of event.samples) samples.push(sample);
    else end = event;
  }
  return { samples, end };
}

const decode = (source: AudioSource, options?: AudioDecoderOptions, signal = NEVER_ABORTED) =>
  collect(createAudioDecoder(options)(source, { workspace: 'ws', signal }));

/** Creates the source of a silent WAV file that is never completely in memory. */
function createSilentWav(seconds: number): AudioSource {
  const bytes = seconds * 32_000;
  const piece = Buffer.alloc(320_000);
  return {
    sizeBytes: createTestWavHeader(bytes).length + bytes,
    read: () =>
      Promise.resolve(
        (async function* pieces() {
          yield createTestWavHeader(bytes);
          for (let at = 0; at < bytes; at += piece.length) yield piece.subarray(0, bytes - at);
        })(),
      ),
  };
}

const summarizeEvent = (end: DecodedAudioEvent | undefined): string =>
  end?.type === 'failed' ? `${end.fault}: ${end.reason}` : `${end?.type}`;

describe('AudioDecoder', () => {
  test('decodes all formats in pieces of any size', async () => {
    for (const name of ['f32.wav', 'speech.mp3', 'speech.opus', 'vorbis.ogg', 'beats.aac']) {
      const expected = await decodeTestAudio(createTestInput(readTestRecording(name)));
      const { samples, end } = await decode(createSource(readTestRecording(name), 1_000));
      assert.deepEqual(end, expected.end);
      assert.deepEqual(Float32Array.from(samples), expected.samples);
    }
  });

  test('moves to the index at the end of a file instead of reading everything', async () => {
    const bytes = readTestRecording('index-last.m4a');
    // Unneeded data at the end, which must not be read.
    const gap = Buffer.alloc(3 * 1024 * 1024);
    gap.writeUInt32BE(gap.length, 0);
    gap.write('free', 4);
    const offsets: number[] = [];
    let sent = 0;
    const whole = Buffer.concat([bytes, gap]);
    const inner = createSource(whole, 1_024);
    const source: AudioSource = {
      sizeBytes: whole.length,
      async read(from) {
        offsets.push(from);
        const pieces = await inner.read(from);
        return (async function* counted() {
          for await (const piece of pieces) {
            sent += piece.length;
            yield piece;
          }
        })();
      },
    };
    const { samples, end } = await decode(source);
    assert.equal(end?.type, 'end', summarizeEvent(end));
    assert.deepEqual(Float32Array.from(samples), (await decodeTestAudio(createTestInput(bytes))).samples);
    assert.deepEqual([offsets[0], offsets.length], [0, 2]);
    assert.ok(sent < 2 * bytes.length + 1024 * 1024, `${sent} bytes`);
  });

  test('stops reading a long recording while the consumer does not continue', async () => {
    const events = createAudioDecoder()(createSilentWav(7_200), { workspace: 'ws', signal: NEVER_ABORTED });
    let seconds = 0;
    const before = process.memoryUsage().arrayBuffers;
    for await (const event of events) {
      if (event.type !== 'sound') break;
      seconds += event.samples.length / 16_000;
      if (seconds >= 300) break;
    }
    assert.ok(process.memoryUsage().arrayBuffers - before < 64 * 1024 * 1024);
    assert.equal(seconds, 300);
  });

  test('fails a recording that needs too much memory', async () => {
    const { end } = await decode(createSilentWav(7_200), { limits: { residentBytesMax: 1024 * 1024 } });
    assert.equal(summarizeEvent(end), 'too-costly: The audio takes too much memory to decode.');
  });

  test('fails a recording that needs too much time', async () => {
    const { end } = await decode(createSilentWav(7_200), {
      limits: { cpuMsBase: 1, cpuMsPerSecond: 0, cpuMsPerMib: 0 },
    });
    assert.equal(summarizeEvent(end), 'too-costly: The audio takes too long to decode.');
  });

  test('does not count the time of a slow consumer as a stall', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const events = createAudioDecoder({ limits: { stallMs: 0 } })(createSilentWav(60), {
      workspace: 'ws',
      signal: NEVER_ABORTED,
    });
    const first = await events.next();
    assert.equal(first.value?.type, 'sound');
    t.mock.timers.tick(10_000);
    const { end } = await collect(events);
    assert.equal(end?.type, 'end', summarizeEvent(end));
  });

  test('rejects recordings that are empty, too large or too long', async () => {
    assert.equal(summarizeEvent((await decode(createSource(Buffer.alloc(0)))).end), 'empty: The audio is empty.');
    const small = { limits: { sourceBytesMax: 10 } };
    const { end } = await decode(createSource(Buffer.alloc(11)), small);
    assert.equal(summarizeEvent(end), 'too-long: The audio has 11 bytes; the maximum is 10.');
    const { end: long } = await decode(createSilentWav(20), { limits: { secondsMax: 10 } });
    assert.equal(summarizeEvent(long), 'too-long: The audio is longer than 10 seconds, the maximum length.');
  });

  test('stops after an abort', async () => {
    const controller = new AbortController();
    const reading = decode(createSilentWav(7_200), {}, controller.signal);
    controller.abort(new Error('nobody waits'));
    await assert.rejects(reading, { message: 'nobody waits' });
    const later = new AbortController();
    const events = createAudioDecoder()(createSilentWav(7_200), { workspace: 'ws', signal: later.signal });
    await events.next();
    later.abort(new Error('nobody waits any more'));
    await assert.rejects(collect(events), { message: 'nobody waits any more' });
  });

  test('fails with the error of the source, or if its length is wrong', async () => {
    const broken: AudioSource = {
      sizeBytes: 50_000,
      read: () =>
        Promise.resolve(
          (async function* pieces() {
            yield readTestRecording('speech.mp3').subarray(0, 500);
            throw new Error('the disk is gone');
          })(),
        ),
    };
    await assert.rejects(decode(broken), { message: 'the disk is gone' });
    const { read: whole } = createSource(readTestRecording('f32.wav'));
    await assert.rejects(decode({ sizeBytes: 60_000, read: whole }), /fewer bytes/);
    await assert.rejects(decode({ sizeBytes: 100, read: whole }), /more bytes/);
  });

  test('leaves a process to other workspaces while one waits for its own recordings', async () => {
    const decodeShared = createAudioDecoder({ concurrency: 2 });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const speech = createSource(readTestRecording('f32.wav'));
    const heldSpeech: AudioSource = { ...speech, read: (from) => held.then(() => speech.read(from)) };
    const start = (source: AudioSource, workspace: string) =>
      collect(decodeShared(source, { workspace, signal: NEVER_ABORTED }));
    const slow = [1, 2, 3].map(() => start(heldSpeech, 'attacker'));
    assert.equal((await start(speech, 'other')).end?.type, 'end');
    release();
    assert.ok((await Promise.all(slow)).every(({ end }) => end?.type === 'end'));
  });

  test('limits concurrent and waiting recordings, and leaves no process behind', async () => {
    const one: AudioDecoder = createAudioDecoder({ concurrency: 1, queueLengthMax: 1 });
    const start = () =>
      collect(one(createSource(readTestRecording('speech.mp3')), { workspace: 'ws', signal: NEVER_ABORTED }));
    const [first, second] = [start(), start()];
    await assert.rejects(start(), { kind: 'overloaded' });
    assert.deepEqual(
      [(await first).end?.type, (await second).end?.type, (await start()).end?.type],
      ['end', 'end', 'end'],
    );
    const processes = execFileSync('ps', ['-axo', 'ppid=,args='], { encoding: 'utf8' }).split('\n');
    const children = processes.filter((line) => line.trim().startsWith(`${process.pid} `)).join();
    assert.doesNotMatch(children, /decoder-process/);
  });
});
