import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptedSpeech } from '../engines/scripted/scripted-speech.ts';
import type { RecognitionRequest, SpeechEngine } from '../engines/speech-engine.ts';
import { inBlocks, levels } from './__fixtures__/levels.ts';
import type { HeardWindow } from './transcribe.ts';
import { transcribe } from './transcribe.ts';

const WISH = {
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  languages: [],
  hotwords: [],
  wantsWords: true,
};

/** An engine of which it is known what it was asked. */
function listening(engine: SpeechEngine = scriptedSpeech()): SpeechEngine & { readonly asked: RecognitionRequest[] } {
  const asked: RecognitionRequest[] = [];
  return {
    ...engine,
    asked,
    recognize: async (request, signal) => {
      asked.push(request);
      return await engine.recognize(request, signal);
    },
  };
}

async function* stream(audio: Float32Array, sizes: readonly number[]): AsyncGenerator<Float32Array> {
  yield* inBlocks(audio, sizes);
}

async function windowsOf(
  audio: Float32Array,
  {
    sizes = [4_096],
    engine = scriptedSpeech(),
    from = 0,
  }: { sizes?: number[]; engine?: SpeechEngine; from?: number } = {},
): Promise<HeardWindow[]> {
  return await Array.fromAsync(transcribe(stream(audio, sizes), WISH, engine, new AbortController().signal, from));
}

/** Ten words of a second, half a second between them. */
const TEN = levels(
  ...Array.from(
    { length: 10 },
    (_, at) =>
      [
        [1_000, 11 + at],
        [500, 0],
      ] as const,
  ).flat(),
);

test('short stretches are heard in one call, with the times of the audio', async () => {
  const engine = listening();
  const [window, ...more] = await windowsOf(levels([3_000, 0], [1_000, 20], [500, 0], [1_000, 21], [3_000, 0]), {
    engine,
  });
  assert.deepEqual(more, []);
  assert.equal(engine.asked.length, 1);
  assert.equal(window?.text, 'w20 w21');
  const times = window.words.map(({ beginMs, endMs }) => [beginMs, endMs]);
  assert.deepEqual(times, [
    [3_000, 4_000],
    [4_500, 5_500],
  ]);
});

test('a long silence is not listened to', async () => {
  const engine = listening();
  const windows = await windowsOf(levels([1_000, 20], [60_000, 0], [1_000, 21]), { engine });
  assert.deepEqual(
    windows.map(({ text }) => text),
    ['w20', 'w21'],
  );
  assert.ok(engine.asked.every(({ samples }) => samples.length < 2 * 16_000));
});

test('an audio in which nobody speaks costs no call', async () => {
  const engine = listening();
  assert.deepEqual(await windowsOf(levels([20_000, 0]), { engine }), []);
  assert.equal(engine.asked.length, 0);
});

test('blocks of any size are heard the same', async () => {
  const whole = await windowsOf(TEN, { sizes: [TEN.length] });
  assert.equal(whole.map(({ text }) => text).join(' '), 'w11 w12 w13 w14 w15 w16 w17 w18 w19 w20');
  for (const sizes of [[1_000], [511, 1, 7_777], [160_000, 3]])
    assert.deepEqual(await windowsOf(TEN, { sizes }), whole);
});

test('more than an engine takes at once is several windows, in which every word is heard', async () => {
  const words = Array.from({ length: 60 }, (_, at) => 10 + (at % 30));
  const audio = levels(
    ...words
      .map(
        (level) =>
          [
            [900, level],
            [400, 0],
          ] as const,
      )
      .flat(),
  );
  const engine = listening();
  const windows = await windowsOf(audio, { engine });
  assert.ok(windows.length >= 3);
  assert.ok(engine.asked.every(({ samples }) => samples.length <= 30 * 16_000));
  assert.deepEqual(
    windows.flatMap((each) => each.words.map(({ text }) => text.trim())),
    words.map((level) => `w${level}`),
  );
});

test('what was interrupted goes on behind its last window and hears the rest', async () => {
  const audio = levels(
    ...Array.from(
      { length: 40 },
      (_, at) =>
        [
          [1_000, 10 + at],
          [500, 0],
        ] as const,
    ).flat(),
  );
  const whole = await windowsOf(audio);
  const [first] = whole;
  assert.ok(first && whole.length > 1);
  const rest = await windowsOf(audio, { from: first.end });
  const said = [first, ...rest].flatMap((each) => each.words);
  assert.deepEqual(
    said,
    whole.flatMap((each) => each.words),
  );
});

test('the model is told what was said before, unless it made it up', async () => {
  const engine = listening();
  await windowsOf(levels([1_000, 20], [10_000, 0], [1_000, 21], [10_000, 0], [1_000, 22]), { engine });
  assert.deepEqual(
    engine.asked.map(({ context }) => context),
    [undefined, 'w20', 'w21'],
  );
  const scripted = scriptedSpeech();
  const unsure = listening({
    ...scripted,
    recognize: async (request, signal) => ({ ...(await scripted.recognize(request, signal)), logProbability: -3 }),
  });
  await windowsOf(levels([1_000, 20], [10_000, 0], [1_000, 21]), { engine: unsure });
  assert.deepEqual(
    unsure.asked.map(({ context }) => context),
    [undefined, undefined],
  );
});

test('words that the model read into a noise are not told', async () => {
  const scripted = scriptedSpeech();
  const engine: SpeechEngine = {
    ...scripted,
    recognize: async (request, signal) => ({
      ...(await scripted.recognize(request, signal)),
      noSpeech: 0.9,
      logProbability: -2,
    }),
  };
  assert.deepEqual(await windowsOf(TEN, { engine }), []);
});

test('an abort ends it', async () => {
  const abort = new AbortController();
  const heard = transcribe(stream(TEN, [1_000]), WISH, scriptedSpeech(), abort.signal);
  abort.abort(new Error('gone'));
  await assert.rejects(heard.next(), /gone/);
});
