import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { inputOf, read, recording } from './__fixtures__/recordings.ts';
import { wavHead } from './__fixtures__/wav-file.ts';
import type { AudioEvent } from './audio.ts';
import { createDecodeAudio, type AudioSource, type DecodeAudio, type DecodeAudioOptions } from './decode-audio.ts';

const never = new AbortController().signal;

const sourceOf = (bytes: Uint8Array, pieceBytes = 64 * 1024): AudioSource => ({
  sizeBytes: bytes.length,
  read: (from) =>
    Promise.resolve(
      (async function* pieces() {
        for (let at = from; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
      })(),
    ),
});

async function all(
  events: AsyncIterable<AudioEvent>,
): Promise<{ readonly samples: number[]; readonly end: AudioEvent | undefined }> {
  const samples: number[] = [];
  let end: AudioEvent | undefined;
  for await (const event of events) {
    assert.equal(end, undefined, 'nothing stands behind the end');
    if (event.type === 'sound') for (const sample of event.samples) samples.push(sample);
    else end = event;
  }
  return { samples, end };
}

const decode = (source: AudioSource, options?: DecodeAudioOptions, signal = never) =>
  all(createDecodeAudio(options)(source, { signal }));

/** A wav file of zeros that nobody holds in memory. */
function longWav(seconds: number): AudioSource {
  const bytes = seconds * 32_000;
  const piece = Buffer.alloc(320_000);
  return {
    sizeBytes: wavHead(bytes).length + bytes,
    read: () =>
      Promise.resolve(
        (async function* pieces() {
          yield wavHead(bytes);
          for (let at = 0; at < bytes; at += piece.length) yield piece.subarray(0, bytes - at);
        })(),
      ),
  };
}

const reasonOf = (end: AudioEvent | undefined): string =>
  end?.type === 'failed' ? `${end.fault}: ${end.reason}` : `${end?.type}`;

describe('a recording in a process of its own', () => {
  test('comes back as its sound, whatever it is and whatever pieces it goes in', async () => {
    for (const name of ['f32.wav', 'speech.mp3', 'speech.opus', 'vorbis.ogg', 'beats.aac']) {
      const expected = await read(inputOf(recording(name)));
      const { samples, end } = await decode(sourceOf(recording(name), 1_000));
      assert.deepEqual(end, expected.end);
      assert.deepEqual(Float32Array.from(samples), expected.samples);
    }
  });

  test('is read from where its index says, and not all over again', async () => {
    const bytes = recording('index-last.m4a');
    // What nobody needs stands behind it, and is not read.
    const gap = Buffer.alloc(3 * 1024 * 1024);
    gap.writeUInt32BE(gap.length, 0);
    gap.write('free', 4);
    const asked: number[] = [];
    let sent = 0;
    const whole = Buffer.concat([bytes, gap]);
    const inner = sourceOf(whole, 1_024);
    const source: AudioSource = {
      sizeBytes: whole.length,
      async read(from) {
        asked.push(from);
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
    assert.equal(end?.type, 'end', reasonOf(end));
    assert.deepEqual(Float32Array.from(samples), (await read(inputOf(bytes))).samples);
    assert.deepEqual([asked[0], asked.length], [0, 2]);
    assert.ok(sent < 2 * bytes.length + 1024 * 1024, `${sent} bytes`);
  });

  test('of hours is never in memory: whoever does not ask on is not sent more', async () => {
    const events = createDecodeAudio()(longWav(7_200), { signal: never });
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

  test('that takes too much memory has failed, and says so', async () => {
    const { end } = await decode(longWav(7_200), { limits: { residentBytesMax: 1024 * 1024 } });
    assert.equal(reasonOf(end), 'too-costly: The audio takes too much memory to decode.');
  });

  test('that takes too long has failed, and says so', async () => {
    const { end } = await decode(longWav(7_200), { limits: { msBase: 1, msPerSecond: 0, msPerMib: 0 } });
    assert.equal(reasonOf(end), 'too-costly: The audio takes too long to decode.');
  });

  test('is not late because its reader is', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const events = createDecodeAudio({ limits: { stallMs: 0 } })(longWav(60), { signal: never });
    const first = await events.next();
    assert.equal(first.value?.type, 'sound');
    t.mock.timers.tick(10_000);
    const { end } = await all(events);
    assert.equal(end?.type, 'end', reasonOf(end));
  });

  test('that is empty, larger than what is read, or lasts too long is refused with a reason', async () => {
    assert.equal(reasonOf((await decode(sourceOf(Buffer.alloc(0)))).end), 'empty: The audio is empty.');
    const small = { limits: { sourceBytesMax: 10 } };
    const { end } = await decode(sourceOf(Buffer.alloc(11)), small);
    assert.equal(reasonOf(end), 'too-long: The audio has 11 bytes; one that is decoded may have 10.');
    const { end: long } = await decode(longWav(20), { limits: { secondsMax: 10 } });
    assert.equal(reasonOf(long), 'too-long: The audio is longer than 10 seconds, which is the most that is read.');
  });

  test('ends with whoever waits for it', async () => {
    const controller = new AbortController();
    const reading = decode(longWav(7_200), {}, controller.signal);
    controller.abort(new Error('nobody waits'));
    await assert.rejects(reading, { message: 'nobody waits' });
    const later = new AbortController();
    const events = createDecodeAudio()(longWav(7_200), { signal: later.signal });
    await events.next();
    later.abort(new Error('nobody waits any more'));
    await assert.rejects(all(events), { message: 'nobody waits any more' });
  });

  test('whose source breaks off fails as that did, and so does one of another length', async () => {
    const broken: AudioSource = {
      sizeBytes: 50_000,
      read: () =>
        Promise.resolve(
          (async function* pieces() {
            yield recording('speech.mp3').subarray(0, 500);
            throw new Error('the disk is gone');
          })(),
        ),
    };
    await assert.rejects(decode(broken), { message: 'the disk is gone' });
    const { read: whole } = sourceOf(recording('f32.wav'));
    await assert.rejects(decode({ sizeBytes: 60_000, read: whole }), /fewer bytes/);
    await assert.rejects(decode({ sizeBytes: 100, read: whole }), /more bytes/);
  });

  test('waits for its turn, no more of them wait than may, and none leaves a process behind', async () => {
    const one: DecodeAudio = createDecodeAudio({ atOnce: 1, waitingMax: 1 });
    const start = () => all(one(sourceOf(recording('speech.mp3')), { signal: never }));
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
