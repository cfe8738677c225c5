import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScriptedSpeechEngine } from '../../../engines/scripted/scripted-speech-engine.ts';
import type { RecognitionRequest, SpeechEngine } from '../../../engines/speech-engine.ts';
import { splitIntoBlocks, createTestAudio } from './__fixtures__/test-audio.ts';
import type { TranscribedWindow } from './transcribe.ts';
import { transcribe } from './transcribe.ts';

const REQUEST = {
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  languages: [],
  hotwords: [],
  includeWords: true,
};

/** Wraps an engine, and records its requests. */
function recordRequests(
  engine: SpeechEngine = createScriptedSpeechEngine(),
): SpeechEngine & { readonly requests: RecognitionRequest[] } {
  const requests: RecognitionRequest[] = [];
  return {
    ...engine,
    requests,
    recognize: async (request, signal) => {
      requests.push(request);
      return await engine.recognize(request, signal);
    },
  };
}

async function* streamBlocks(audio: Float32Array, sizes: readonly number[]): AsyncGenerator<Float32Array> {
  yield* splitIntoBlocks(audio, sizes);
}

async function transcribeAll(
  audio: Float32Array,
  {
    sizes = [4_096],
    engine = createScriptedSpeechEngine(),
    from = 0,
  }: { sizes?: number[]; engine?: SpeechEngine; from?: number } = {},
): Promise<TranscribedWindow[]> {
  return await Array.fromAsync(
    transcribe(streamBlocks(audio, sizes), REQUEST, engine, new AbortController().signal, from),
  );
}

/** Ten words of one second, with pauses of half a second. */
const TEN_WORDS = createTestAudio(
  ...Array.from(
    { length: 10 },
    (_, at) =>
      [
        [1_000, 11 + at],
        [500, 0],
      ] as const,
  ).flat(),
);

test('combines short segments into one call, with times of the whole audio', async () => {
  const engine = recordRequests();
  const [window, ...more] = await transcribeAll(
    createTestAudio([3_000, 0], [1_000, 20], [500, 0], [1_000, 21], [3_000, 0]),
    {
      engine,
    },
  );
  assert.deepEqual(more, []);
  assert.equal(engine.requests.length, 1);
  assert.equal(window?.text, 'w20 w21');
  const times = window.words.map(({ beginMs, endMs }) => [beginMs, endMs]);
  assert.deepEqual(times, [
    [3_000, 4_000],
    [4_500, 5_500],
  ]);
});

test('does not recognize long silence', async () => {
  const engine = recordRequests();
  const windows = await transcribeAll(createTestAudio([1_000, 20], [60_000, 0], [1_000, 21]), { engine });
  assert.deepEqual(
    windows.map(({ text }) => text),
    ['w20', 'w21'],
  );
  assert.ok(engine.requests.every(({ samples }) => samples.length < 2 * 16_000));
});

test('makes no call for audio without speech', async () => {
  const engine = recordRequests();
  assert.deepEqual(await transcribeAll(createTestAudio([20_000, 0]), { engine }), []);
  assert.equal(engine.requests.length, 0);
});

test('returns the same windows for blocks of any size', async () => {
  const whole = await transcribeAll(TEN_WORDS, { sizes: [TEN_WORDS.length] });
  assert.equal(whole.map(({ text }) => text).join(' '), 'w11 w12 w13 w14 w15 w16 w17 w18 w19 w20');
  for (const sizes of [[1_000], [511, 1, 7_777], [160_000, 3]])
    assert.deepEqual(await transcribeAll(TEN_WORDS, { sizes }), whole);
});

test('splits long audio into several windows without losing a word', async () => {
  const words = Array.from({ length: 60 }, (_, at) => 10 + (at % 30));
  const audio = createTestAudio(
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
  const engine = recordRequests();
  const windows = await transcribeAll(audio, { engine });
  assert.ok(windows.length >= 3);
  assert.ok(engine.requests.every(({ samples }) => samples.length <= 30 * 16_000));
  assert.deepEqual(
    windows.flatMap((each) => each.words.map(({ text }) => text.trim())),
    words.map((level) => `w${level}`),
  );
});

test('resumes after the last window of an interrupted transcription', async () => {
  const audio = createTestAudio(
    ...Array.from(
      { length: 40 },
      (_, at) =>
        [
          [1_000, 10 + at],
          [500, 0],
        ] as const,
    ).flat(),
  );
  const whole = await transcribeAll(audio);
  const [first] = whole;
  assert.ok(first && whole.length > 1);
  const rest = await transcribeAll(audio, { from: first.endSample });
  const resumedWords = [first, ...rest].flatMap((each) => each.words);
  assert.deepEqual(
    resumedWords,
    whole.flatMap((each) => each.words),
  );
});

test('passes the preceding text as context, unless it is unlikely', async () => {
  const engine = recordRequests();
  await transcribeAll(createTestAudio([1_000, 20], [10_000, 0], [1_000, 21], [10_000, 0], [1_000, 22]), { engine });
  assert.deepEqual(
    engine.requests.map(({ context }) => context),
    [undefined, 'w20', 'w21'],
  );
  const scripted = createScriptedSpeechEngine();
  const unsure = recordRequests({
    ...scripted,
    recognize: async (request, signal) => ({ ...(await scripted.recognize(request, signal)), logProbability: -3 }),
  });
  await transcribeAll(createTestAudio([1_000, 20], [10_000, 0], [1_000, 21]), { engine: unsure });
  assert.deepEqual(
    unsure.requests.map(({ context }) => context),
    [undefined, undefined],
  );
});

test('discards words that the model recognized in noise', async () => {
  const scripted = createScriptedSpeechEngine();
  const engine: SpeechEngine = {
    ...scripted,
    recognize: async (request, signal) => ({
      ...(await scripted.recognize(request, signal)),
      noSpeech: 0.9,
      logProbability: -2,
    }),
  };
  assert.deepEqual(await transcribeAll(TEN_WORDS, { engine }), []);
});

test('stops after an abort', async () => {
  const abort = new AbortController();
  const transcription = transcribe(
    streamBlocks(TEN_WORDS, [1_000]),
    REQUEST,
    createScriptedSpeechEngine(),
    abort.signal,
  );
  abort.abort(new Error('gone'));
  await assert.rejects(transcription.next(), /gone/);
});
