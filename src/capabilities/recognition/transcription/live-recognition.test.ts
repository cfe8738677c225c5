import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { createScriptedSpeechEngine } from '../../../engines/scripted/scripted-speech-engine.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import { splitIntoBlocks, createTestAudio } from './__fixtures__/test-audio.ts';
import type { LiveTranscript, LiveRecognitionOptions } from './live-recognition.ts';
import { createLiveRecognition } from './live-recognition.ts';

const REQUEST = { id: 'r', owner: { workspace: 'w', key: 'k' }, languages: [], hotwords: [], includeWords: true };
const OPTIONS = { pauseMs: 1_000, partialIntervalMs: 3_000 };

const failOnCall = (what: unknown): never => assert.fail(String(what));

interface TestOptions {
  readonly engine?: SpeechEngine;
  readonly options?: LiveRecognitionOptions;
  readonly blockMs?: number;
}

/** Transcribes audio block by block; each block is processed before the next one is sent. */
async function transcribeLive(
  audio: Float32Array,
  { engine = createScriptedSpeechEngine(), options = OPTIONS, blockMs = 100 }: TestOptions = {},
) {
  const transcripts: LiveTranscript[] = [];
  const failures: unknown[] = [];
  const deps = {
    engine,
    request: REQUEST,
    options,
    onTranscript: transcripts.push.bind(transcripts),
    onFailure: failures.push.bind(failures),
  };
  const live = createLiveRecognition(deps, new AbortController().signal);
  for (const block of splitIntoBlocks(audio, [blockMs * 16])) {
    live.push(block);
    await live.waitForBacklogBelow(1);
  }
  const end = await live.finish().catch((cause: unknown) => cause);
  return { transcripts, failures, end, finals: transcripts.filter(({ isFinal }) => isFinal) };
}

const countCalls = (engine = createScriptedSpeechEngine()): SpeechEngine & { calls: number } => {
  const counting = { ...engine, calls: 0 };
  counting.recognize = async (request, signal) => {
    assert.equal(request.isLive, true);
    counting.calls += 1;
    return await engine.recognize(request, signal);
  };
  return counting;
};

test('emits a partial transcript at a short pause, and the final one at a long pause', async () => {
  const { transcripts } = await transcribeLive(
    createTestAudio([500, 0], [1_000, 20], [2_000, 0], [1_000, 21], [2_000, 0]),
  );
  assert.deepEqual(
    transcripts.map(({ number, isFinal, text, beginMs, endMs }) => [number, isFinal, text, beginMs, endMs]),
    [
      [1, false, 'w20', 500, 1_500],
      [1, true, 'w20', 500, 1_500],
      [2, false, 'w21', 3_500, 4_500],
      [2, true, 'w21', 3_500, 4_500],
    ],
  );
});

test('emits partial transcripts every three seconds of continuous speech', async () => {
  const { transcripts } = await transcribeLive(
    createTestAudio(...Array.from({ length: 8 }, (_, at) => [1_000, 10 + at] as const), [2_000, 0]),
  );
  const partials = transcripts.filter(({ isFinal }) => !isFinal).map(({ text }) => text.split(' ').length);
  assert.deepEqual(partials, [3, 6, 8]);
  assert.equal(transcripts.at(-1)?.text, 'w10 w11 w12 w13 w14 w15 w16 w17');
});

test('reuses the partial recognition if only silence follows', async () => {
  const engine = countCalls();
  await transcribeLive(createTestAudio([1_000, 20], [3_000, 0]), { engine });
  assert.equal(engine.calls, 1);
});

test('emits a final transcript for speech at the end of the audio', async () => {
  const { finals } = await transcribeLive(createTestAudio([1_000, 20], [1_500, 0], [1_050, 21]));
  assert.deepEqual(
    finals.map(({ text }) => text),
    ['w20', 'w21'],
  );
});

test('splits sentences at punctuation on request', async () => {
  const audio = createTestAudio([500, 20], [500, 60], [500, 41], [500, 61], [2_000, 0]);
  assert.deepEqual(
    (await transcribeLive(audio)).finals.map(({ text }) => text),
    ['w20 w60. W41 w61.'],
  );
  const { finals } = await transcribeLive(audio, { options: { ...OPTIONS, splitsSentences: true } });
  assert.deepEqual(
    finals.map(({ number, text }) => [number, text]),
    [
      [1, 'w20 w60.'],
      [2, 'W41 w61.'],
    ],
  );
});

test('recognizes every word of long speech, in blocks of any size', async () => {
  const words = Array.from({ length: 50 }, (_, at) => 10 + (at % 30));
  const audio = createTestAudio(
    ...words
      .map(
        (level) =>
          [
            [700, level],
            [200, 0],
          ] as const,
      )
      .flat(),
  );
  for (const blockMs of [7, 250, 20_000]) {
    const { finals } = await transcribeLive(audio, { blockMs });
    assert.equal(
      finals.map(({ text }) => text).join(' '),
      words.map((level) => `w${level}`).join(' '),
      `${blockMs} ms`,
    );
    assert.deepEqual(
      finals.map(({ number }) => number),
      finals.map((_, at) => at + 1),
    );
  }
});

test('emits nothing for audio without speech', async () => {
  const { transcripts } = await transcribeLive(createTestAudio([10_000, 0]));
  assert.deepEqual(transcripts, []);
});

test('emits only final transcripts if the sender is faster than recognition', async () => {
  const transcripts: LiveTranscript[] = [];
  const onTranscript = (each: LiveTranscript): void => void transcripts.push(each);
  const deps = {
    engine: createScriptedSpeechEngine(),
    request: REQUEST,
    options: OPTIONS,
    onTranscript,
    onFailure: failOnCall,
  };
  const live = createLiveRecognition(deps, new AbortController().signal);
  const audio = createTestAudio(
    ...Array.from(
      { length: 20 },
      (_, at) =>
        [
          [1_000, 10 + at],
          [1_200, 0],
        ] as const,
    ).flat(),
  );
  for (const block of splitIntoBlocks(audio, [1_600])) live.push(block);
  assert.equal(live.backlogMs, 44_000);
  await live.waitForBacklogBelow(20_000);
  assert.ok(live.backlogMs < 20_000);
  await live.finish();
  assert.equal(transcripts.filter(({ isFinal }) => isFinal).length, 20);
  assert.ok(transcripts.filter(({ isFinal }) => !isFinal).length <= 3);
});

test('ends with the error of the engine, and reports it once', async () => {
  const failing = {
    ...createScriptedSpeechEngine(),
    recognize: async () => Promise.reject(new ServiceError('overloaded', 'full')),
  };
  const { failures, end } = await transcribeLive(createTestAudio([1_000, 20], [2_000, 0]), { engine: failing });
  assert.equal(failures.length, 1);
  assert.match(String(end), /full/);
});

test('ends without a failure report after an abort', async () => {
  const abort = new AbortController();
  const deps = {
    engine: createScriptedSpeechEngine(),
    request: REQUEST,
    options: OPTIONS,
    onTranscript: failOnCall,
    onFailure: failOnCall,
  };
  const live = createLiveRecognition(deps, abort.signal);
  live.push(createTestAudio([100, 0]));
  await live.waitForBacklogBelow(1);
  abort.abort(new Error('gone'));
  await assert.rejects(live.finish(), /gone/);
  live.push(createTestAudio([1_000, 20]));
  await live.waitForBacklogBelow(1);
});
