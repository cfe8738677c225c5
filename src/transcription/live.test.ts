import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { scriptedSpeech } from '../engines/scripted/scripted-speech.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import { inBlocks, levels } from './__fixtures__/levels.ts';
import type { LiveHeard, LiveRules } from './live.ts';
import { createLiveRecognition } from './live.ts';

const WISH = { id: 'r', owner: { workspace: 'w', key: 'k' }, languages: [], hotwords: [], wantsWords: true };
const RULES = { pauseMs: 1_000, partialMs: 3_000 };

const unwanted = (what: unknown): never => assert.fail(String(what));

interface Options {
  readonly engine?: SpeechEngine;
  readonly rules?: LiveRules;
  readonly blockMs?: number;
}

/** Live, but for the clock: the next block comes when the one before was heard. */
async function hear(audio: Float32Array, { engine = scriptedSpeech(), rules = RULES, blockMs = 100 }: Options = {}) {
  const heard: LiveHeard[] = [];
  const failures: unknown[] = [];
  const needs = { engine, wish: WISH, rules, onHeard: heard.push.bind(heard), onFailure: failures.push.bind(failures) };
  const live = createLiveRecognition(needs, new AbortController().signal);
  for (const block of inBlocks(audio, [blockMs * 16])) {
    live.push(block);
    await live.below(1);
  }
  const end = await live.finish().catch((cause: unknown) => cause);
  return { heard, failures, end, finals: heard.filter(({ isFinal }) => isFinal) };
}

const counted = (engine = scriptedSpeech()): SpeechEngine & { calls: number } => {
  const counting = { ...engine, calls: 0 };
  counting.recognize = async (request, signal) => {
    counting.calls += 1;
    return await engine.recognize(request, signal);
  };
  return counting;
};

test('a sentence is told at its first pause, and for good when the pause is long', async () => {
  const { heard } = await hear(levels([500, 0], [1_000, 20], [2_000, 0], [1_000, 21], [2_000, 0]));
  assert.deepEqual(
    heard.map(({ number, isFinal, text, beginMs, endMs }) => [number, isFinal, text, beginMs, endMs]),
    [
      [1, false, 'w20', 500, 1_500],
      [1, true, 'w20', 500, 1_500],
      [2, false, 'w21', 3_500, 4_500],
      [2, true, 'w21', 3_500, 4_500],
    ],
  );
});

test('who speaks on is told every three seconds', async () => {
  const { heard } = await hear(levels(...Array.from({ length: 8 }, (_, at) => [1_000, 10 + at] as const), [2_000, 0]));
  const partials = heard.filter(({ isFinal }) => !isFinal).map(({ text }) => text.split(' ').length);
  assert.deepEqual(partials, [3, 6, 8]);
  assert.equal(heard.at(-1)?.text, 'w10 w11 w12 w13 w14 w15 w16 w17');
});

test('silence behind what was heard costs no second call', async () => {
  const engine = counted();
  await hear(levels([1_000, 20], [3_000, 0]), { engine });
  assert.equal(engine.calls, 1);
});

test('what was being said at the end is told for good', async () => {
  const { finals } = await hear(levels([1_000, 20], [1_500, 0], [1_050, 21]));
  assert.deepEqual(
    finals.map(({ text }) => text),
    ['w20', 'w21'],
  );
});

test('punctuation ends sentences where that is wanted', async () => {
  const audio = levels([500, 20], [500, 60], [500, 41], [500, 61], [2_000, 0]);
  assert.deepEqual(
    (await hear(audio)).finals.map(({ text }) => text),
    ['w20 w60. W41 w61.'],
  );
  const { finals } = await hear(audio, { rules: { ...RULES, splitsSentences: true } });
  assert.deepEqual(
    finals.map(({ number, text }) => [number, text]),
    [
      [1, 'w20 w60.'],
      [2, 'W41 w61.'],
    ],
  );
});

test('every word is heard, in blocks of any size, however long nobody pauses', async () => {
  const words = Array.from({ length: 50 }, (_, at) => 10 + (at % 30));
  const audio = levels(
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
    const { finals } = await hear(audio, { blockMs });
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

test('where nobody speaks, nothing is told', async () => {
  const { heard } = await hear(levels([10_000, 0]));
  assert.deepEqual(heard, []);
});

test('who sends faster than can be heard gets no partials, and all finals', async () => {
  const heard: LiveHeard[] = [];
  const onHeard = (each: LiveHeard): void => void heard.push(each);
  const needs = { engine: scriptedSpeech(), wish: WISH, rules: RULES, onHeard, onFailure: unwanted };
  const live = createLiveRecognition(needs, new AbortController().signal);
  const audio = levels(
    ...Array.from(
      { length: 20 },
      (_, at) =>
        [
          [1_000, 10 + at],
          [1_200, 0],
        ] as const,
    ).flat(),
  );
  for (const block of inBlocks(audio, [1_600])) live.push(block);
  assert.equal(live.backlogMs, 44_000);
  await live.below(20_000);
  assert.ok(live.backlogMs < 20_000);
  await live.finish();
  assert.equal(heard.filter(({ isFinal }) => isFinal).length, 20);
  assert.ok(heard.filter(({ isFinal }) => !isFinal).length <= 3);
});

test('an engine that fails ends it, and is told once', async () => {
  const failing = {
    ...scriptedSpeech(),
    recognize: async () => Promise.reject(new ServiceError('overloaded', 'full')),
  };
  const { failures, end } = await hear(levels([1_000, 20], [2_000, 0]), { engine: failing });
  assert.equal(failures.length, 1);
  assert.match(String(end), /full/);
});

test('an abort ends it in silence', async () => {
  const abort = new AbortController();
  const needs = { engine: scriptedSpeech(), wish: WISH, rules: RULES, onHeard: unwanted, onFailure: unwanted };
  const live = createLiveRecognition(needs, abort.signal);
  live.push(levels([100, 0]));
  await live.below(1);
  abort.abort(new Error('gone'));
  await assert.rejects(live.finish(), /gone/);
  live.push(levels([1_000, 20]));
  await live.below(1);
});
