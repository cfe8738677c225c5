import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { encodePcm16, createTestWavFile } from '../audio/__fixtures__/test-wav-file.ts';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import { ServiceError } from '../../../core/error.ts';
import { createScriptedSpeechEngine } from '../../../engines/scripted/scripted-speech-engine.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import { openPcmStream } from '../transcription/pcm-stream.ts';
import { createTestAudio } from '../transcription/__fixtures__/test-audio.ts';
import type { RealtimeAudioEvent } from '../transcription/realtime-audio-stream.ts';
import type { RealtimeSessionDeps } from './realtime-session.ts';
import {
  OTHER_TASK,
  TASK,
  createCommand,
  createTestRealtime,
  createRunTask,
  waitUntil,
} from './__fixtures__/test-realtime.ts';

const SENTENCE = encodePcm16(createTestAudio([500, 0], [1_000, 20], [300, 60], [1_500, 0]));
const WORD = encodePcm16(createTestAudio([1_000, 20], [1_500, 0]));

test('sends the golden bytes of a task', async () => {
  const peer = createTestRealtime().open();
  await peer.start();
  peer.session.onBinary(SENTENCE.subarray(0, 60_000));
  await peer.finish();
  const words =
    '[{"begin_time":500,"end_time":1500,"text":"w20 ","punctuation":""},{"begin_time":1500,"end_time":1800,"text":"w60","punctuation":". "}]';
  assert.deepEqual(peer.sent, [
    `{"header":{"task_id":"${TASK}","event":"task-started","attributes":{}},"payload":{}}`,
    `{"header":{"task_id":"${TASK}","event":"result-generated","attributes":{}},"payload":{"output":{"sentence":` +
      `{"begin_time":500,"end_time":1800,"text":"w20 w60.","heartbeat":false,"sentence_end":true,"sentence_id":1,"words":${words}}},` +
      '"usage":{"duration":2}}}',
    `{"header":{"task_id":"${TASK}","event":"task-finished","attributes":{}},"payload":{"output":{},"usage":null}}`,
  ]);
  assert.deepEqual(peer.closes, []);
});

test('sends a partial sentence without end_time and usage', async () => {
  const peer = createTestRealtime().open();
  await peer.start();
  peer.session.onBinary(SENTENCE.subarray(0, 72_000));
  await waitUntil(() => peer.listSentences().length > 0);
  assert.equal(
    peer.sent[1],
    `{"header":{"task_id":"${TASK}","event":"result-generated","attributes":{}},"payload":{"output":{"sentence":` +
      '{"begin_time":500,"end_time":null,"text":"w20 w60.","heartbeat":false,"sentence_end":false,"sentence_id":1,"words":' +
      '[{"begin_time":500,"end_time":1500,"text":"w20 ","punctuation":""},{"begin_time":1500,"end_time":1800,"text":"w60","punctuation":". "}]}},' +
      '"usage":null}}',
  );
});

test('sends the golden bytes of a failure, and closes the connection', () => {
  const peer = createTestRealtime().open();
  peer.session.onText(createCommand('stop-task', {}));
  assert.deepEqual(peer.sent, [
    `{"header":{"task_id":"${TASK}","event":"task-failed","error_code":"InvalidParameter","error_message":` +
      '"header.action must be one of \\"run-task\\", \\"continue-task\\", \\"finish-task\\", got \\"stop-task\\".",' +
      '"attributes":{}},"payload":{}}',
  ]);
  assert.deepEqual(peer.closes, [[1008, 'InvalidParameter']]);
});

test('accepts another task when the previous one has finished', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  for (const id of [TASK, OTHER_TASK, OTHER_TASK.toUpperCase()]) {
    await peer.start({}, {}, id);
    peer.session.onBinary(WORD);
    await peer.finish(id);
    assert.equal(peer.getLastHeader()?.task_id, id);
  }
  assert.deepEqual(
    peer.listFinalSentences().map(({ sentence_id, text }) => [sentence_id, text]),
    [
      [1, 'w20'],
      [1, 'w20'],
      [1, 'w20'],
    ],
  );
  assert.deepEqual(realtime.running, { recognitions: 0, leases: 0 });
});

test('recognizes audio that is sent before task-started', async () => {
  const peer = createTestRealtime().open();
  peer.sendRunTask();
  peer.session.onBinary(WORD);
  peer.session.onBinary(WORD);
  await peer.finish();
  assert.deepEqual(
    peer.listFinalSentences().map(({ text }) => text),
    ['w20', 'w20'],
  );
  assert.deepEqual(peer.closes, []);
});

test('pauses reading when too much audio is sent before task-started', async () => {
  let releaseEngine = (): void => undefined;
  const { deps } = createTestRealtime();
  const realtime = createTestRealtime({
    async acquireSpeechEngine(model) {
      await new Promise<void>((resolve) => (releaseEngine = resolve));
      return await deps.acquireSpeechEngine(model);
    },
  });
  const peer = realtime.open();
  peer.sendRunTask();
  // Each message counts a little more than its bytes.
  for (let count = 0; count < 800; count += 1) peer.session.onBinary(WORD.subarray(0, 1_000));
  assert.equal(peer.isReadingPaused(), false);
  for (let count = 0; count < 200; count += 1) peer.session.onBinary(WORD.subarray(0, 1_000));
  assert.equal(peer.isReadingPaused(), true);
  await waitUntil(() => {
    releaseEngine();
    return peer.listEventNames().includes('task-started');
  });
  assert.equal(peer.isReadingPaused(), false);
  await peer.finish();
  assert.equal(peer.listFinalSentences().at(-1)?.end_time, 31_250);
});

test('pauses reading when too many messages are sent before task-started', async () => {
  const peer = createTestRealtime({ acquireSpeechEngine: () => new Promise(() => undefined) }).open();
  peer.sendRunTask();
  const context = [{ role: 'user', content: [{ type: 'input_text', text: 'x'.repeat(200_000) }] }];
  for (let count = 0; count < 5; count += 1)
    peer.session.onText(createCommand('continue-task', { input: { context } }));
  assert.equal(peer.isReadingPaused(), false);
  peer.session.onText(createCommand('continue-task', { input: { context } }));
  assert.equal(peer.isReadingPaused(), true);
});

test('recognizes the same sentences, however the audio is split', async () => {
  const audio = createTestAudio(
    [300, 0],
    [700, 20],
    [300, 60],
    [1_500, 0],
    [900, 41],
    [1_400, 0],
    [2_000, 22],
    [700, 61],
  );
  const file = createTestWavFile(encodePcm16(audio));
  const recognize = async (format: object, bytes: Uint8Array, sizes: readonly number[]) => {
    const peer = createTestRealtime().open();
    await peer.start(format);
    for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
      const size = sizes[piece % sizes.length] ?? bytes.length;
      peer.session.onBinary(bytes.subarray(at, at + size));
      at += size;
    }
    await peer.finish();
    return peer.listFinalSentences();
  };
  const whole = await recognize({}, encodePcm16(audio), [file.length]);
  assert.deepEqual(
    whole.map(({ text }) => text),
    ['w20 w60.', 'W41', 'w22 w61.'],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 8 }), async (sizes) => {
      // Hundreds of thousands of messages of a few bytes would test nothing more.
      const cuts = [...sizes, 12_800];
      assert.deepEqual(await recognize({}, encodePcm16(audio), cuts), whole);
      assert.deepEqual(await recognize({ format: 'wav' }, file, cuts), whole);
    }),
    { numRuns: scalePropertyRuns(8) },
  );
});

type Step = (peer: ReturnType<ReturnType<typeof createTestRealtime>['open']>) => void | Promise<void>;
const sendAudio: Step = ({ session }) => session.onBinary(WORD);
const sendText =
  (text: string): Step =>
  ({ session }) =>
    session.onText(text);
const startTask: Step = (peer) => peer.start();
const FINISH = createCommand('finish-task', { input: {} });

const OUT_OF_ORDER: readonly (readonly [name: string, steps: readonly Step[], message: RegExp])[] = [
  ['audio before run-task', [sendAudio], /^Audio was sent without a task/],
  ['audio after finish-task', [startTask, sendText(FINISH), sendAudio], /^Audio was sent after finish-task\.$/],
  [
    'a second run-task',
    [startTask, sendText(createRunTask({}, {}, OTHER_TASK))],
    /^Task 0123456789abcdef0123456789abcdef has not ended/,
  ],
  [
    'a second run-task at once',
    [(peer) => peer.sendRunTask(), sendText(createRunTask())],
    /has not ended on this connection/,
  ],
  ['finish-task without a task', [sendText(FINISH)], /^finish-task was sent without a task/],
  [
    'audio after finish-task, both before task-started',
    [(peer) => peer.sendRunTask(), sendText(FINISH), sendAudio],
    /^Audio was sent after finish-task/,
  ],
  ['finish-task twice', [startTask, sendText(FINISH), sendText(FINISH)], /^finish-task was sent after finish-task/],
  [
    'finish-task of another task',
    [startTask, sendText(createCommand('finish-task', {}, OTHER_TASK))],
    /another task than the running one/,
  ],
  [
    'continue-task without a task',
    [sendText(createCommand('continue-task', { input: {} }))],
    /^continue-task was sent without a task/,
  ],
  ['half of a message', [startTask, sendText(FINISH.slice(0, 30))], /one complete JSON object/],
  ['an array', [sendText('[]')], /must be a JSON object/],
  ['no header', [sendText('{}')], /Required parameter\(header\)/],
  ['no task id', [sendText('{"header":{"action":"run-task"}}')], /task_id/],
  [
    'an invalid task id',
    [sendText(createRunTask({}, {}, 'task-1'))],
    /^A task id must be a UUID.*header\.task_id: "task-1"/,
  ],
  [
    'an unknown streaming mode',
    [sendText(createRunTask().replace('duplex', 'out'))],
    /^header\.streaming must be "duplex"/,
  ],
  ['another task group', [sendText(createRunTask({}, { task_group: 'tts' }))], /^payload\.task_group must be "audio"/],
  ['a text message above the limit', [sendText(`{"x":"${'x'.repeat(300_000)}"}`)], /at most 262144 bytes/],
  [
    'an audio message above the limit',
    [startTask, ({ session }) => session.onBinary(new Uint8Array(1_100_000))],
    /at most 1048576 bytes/,
  ],
];

for (const [name, steps, expected] of OUT_OF_ORDER) {
  test(`fails the task with an error message and closes the connection after ${name}`, async () => {
    const realtime = createTestRealtime();
    const peer = realtime.open();
    for (const step of steps) await step(peer);
    await waitUntil(() => peer.closes.length > 0);
    assert.equal(peer.getLastHeader()?.event, 'task-failed');
    assert.match(peer.getLastHeader()?.error_message ?? '', expected);
    assert.equal(peer.closes.length, 1);
    const count = peer.sent.length;
    // Later messages on the same connection are ignored.
    for (const step of steps) await Promise.race([step(peer), waitUntil(() => true)]);
    await waitUntil(() => realtime.running.leases === 0 && realtime.running.recognitions === 0);
    assert.equal(peer.sent.length, count);
  });
}

const REJECTED: readonly (readonly [parameters: object, code: string, message: RegExp])[] = [
  [{ format: undefined }, 'InvalidParameter', /parameters\.format/],
  [{ format: 'amr' }, 'UnsupportedOperation', /Unsupported audio format "amr"\. Supported: pcm, wav, mp3, aac, opus/],
  [{ format: 'speex' }, 'UnsupportedOperation', /"speex"/],
  [{ format: 'amr' }, 'UnsupportedOperation', /"amr"/],
  [{ sample_rate: 7_999 }, 'InvalidParameter', /^payload\.parameters\.sample_rate must be at least 8000, got 7999/],
  [{ sample_rate: 48_001 }, 'InvalidParameter', /sample_rate must be at most 48000/],
  [{ sample_rate: '16000' }, 'InvalidParameter', /sample_rate must be an integer|sample_rate must be a number/],
  [{ max_sentence_silence: 199 }, 'InvalidParameter', /max_sentence_silence must be at least 200, got 199/],
  [{ max_sentence_silence: 6_001 }, 'InvalidParameter', /max_sentence_silence must be at most 6000, got 6001/],
  [{ heartbeat: 'yes' }, 'InvalidParameter', /heartbeat must be true or false/],
  [{ speech_noise_threshold: 2 }, 'InvalidParameter', /speech_noise_threshold must be at most 1/],
  [
    { vocabulary: { Parley: 6 } },
    'InvalidParameter',
    /an integer from 1 to 5\. \(payload\.parameters\.vocabulary: 6\)/,
  ],
  [{ vocabulary: { Parley: '4' } }, 'InvalidParameter', /an integer from 1 to 5/],
  [{ vocabulary: { ' ': 4 } }, 'InvalidParameter', /must have 1 to 100 characters/],
  [{ vocabulary: ['Parley'] }, 'InvalidParameter', /vocabulary must be an object, got an array of 1/],
  [
    { vocabulary: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`w${at}`, 1])) },
    'InvalidParameter',
    /at most 500 words/,
  ],
  [{ vocabulary_id: 'vocab-b-1' }, 'NotFound', /no such vocabulary/],
  [{ language_hints: ['english'] }, 'InvalidParameter', /two or three letters/],
  [{ language_hints: ['xx'] }, 'InvalidParameter', /supports en, zh, de.*language_hints: "xx"/],
  [{ special_word_filter: '{' }, 'InvalidParameter', /special_word_filter/],
  [
    { special_word_filter: '{"filter_with_empty":{"word_list":[5]}}' },
    'InvalidParameter',
    /word_list\[0\] must be a string/,
  ],
];

for (const [parameters, code, expected] of REJECTED) {
  test(`rejects ${JSON.stringify(parameters).slice(0, 80)}`, async () => {
    const realtime = createTestRealtime();
    const peer = realtime.open();
    await peer.start(parameters);
    assert.deepEqual([peer.getLastHeader()?.event, peer.getLastHeader()?.error_code], ['task-failed', code]);
    assert.match(peer.getLastHeader()?.error_message ?? '', expected);
    assert.deepEqual(realtime.running, { recognitions: 0, leases: 0 });
  });
}

test('fails the task, not the handshake, for an unknown model', async () => {
  const peer = createTestRealtime().open();
  await peer.start({}, { model: 'nix' });
  assert.equal(peer.getLastHeader()?.error_code, 'ModelNotFound');
  assert.match(peer.getLastHeader()?.error_message ?? '', /^Model can not be found\. The model `nix` does not exist/);
});

test('names parameters without effect in task-started and in the log', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  await peer.start(
    {
      diarization_enabled: true,
      speaker_count: 2,
      timestamp_alignment_enabled: false,
      inverse_text_normalization_enabled: false,
      multi_threshold_mode_enabled: true,
      special_word_filter: '{"system_reserved_filter":true}',
      pre_task_id: 'x',
      foo: 1,
    },
    { resources: [{ resource_id: 'p', resource_type: 'asr_phrase' }] },
  );
  const ignored =
    'parameters.special_word_filter.system_reserved_filter,parameters.multi_threshold_mode_enabled,' +
    'parameters.inverse_text_normalization_enabled,parameters.diarization_enabled,parameters.speaker_count,parameters.foo,resources';
  assert.deepEqual(peer.getLastHeader()?.attributes, { 'x-parley-ignored': ignored });
  await peer.finish();
  assert.equal(realtime.lines.find(({ message }) => message === 'recognition')?.['ignored'], ignored);
});

test('rejects an unknown field in strict mode', async () => {
  const peer = createTestRealtime({ strict: true }).open();
  await peer.start({ foo: 1 });
  assert.match(peer.getLastHeader()?.error_message ?? '', /payload\.parameters\.foo is not a field/);
});

test('uses the hotwords of a vocabulary and of the task', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  await peer.start({ vocabulary_id: 'vocab-a-1', vocabulary: { Qwen: 5, 'Alan Kay': 1 } });
  peer.session.onBinary(encodePcm16(createTestAudio([1_000, 30], [1_500, 0])));
  await peer.finish();
  assert.deepEqual(realtime.requests[0]?.hotwords, [
    { text: 'Parley', weight: 4 },
    { text: 'Qwen', weight: 5 },
    { text: 'Alan Kay', weight: 1 },
  ]);
  assert.equal(peer.listFinalSentences()[0]?.text, 'Qwen');
});

test('passes the context to the model, and replaces it during the task', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  const createContext = (text: string) => ({
    input: { context: [{ role: 'user', content: [{ type: 'input_text', text }] }] },
  });
  await peer.start({ language_hints: ['DE', 'yue'] }, createContext('Kernphysik'));
  peer.session.onBinary(WORD);
  await waitUntil(() => peer.listFinalSentences().length === 1);
  peer.session.onText(createCommand('continue-task', createContext('Gärtnern')));
  peer.session.onBinary(WORD);
  await peer.finish();
  assert.deepEqual([...new Set(realtime.requests.map((request) => request.context))], ['Kernphysik', 'Gärtnern']);
  assert.deepEqual(realtime.requests[0]?.languages, ['de', 'zh']);
});

test('filters words and punctuation', async () => {
  const peer = createTestRealtime().open();
  await peer.start({
    punctuation_prediction_enabled: false,
    semantic_punctuation_enabled: true,
    special_word_filter: JSON.stringify({
      filter_with_signed: { word_list: ['w20'] },
      filter_with_empty: { word_list: ['w23', 'w22'] },
    }),
  });
  peer.session.onBinary(
    encodePcm16(createTestAudio([500, 20], [500, 60], [500, 41], [500, 22], [1_500, 0], [500, 23], [1_500, 0])),
  );
  await peer.finish();
  assert.deepEqual(
    peer.listFinalSentences().map(({ text, sentence_id }) => [sentence_id, text]),
    [
      [1, '*** w60'],
      [2, 'W41'],
    ],
  );
});

test('splits sentences at punctuation and drops filler words only on request', async () => {
  const recognize = async (parameters: object): Promise<readonly string[]> => {
    const peer = createTestRealtime().open();
    await peer.start({ vocabulary: { um: 5 }, ...parameters });
    peer.session.onBinary(encodePcm16(createTestAudio([500, 30], [500, 20], [500, 60], [500, 41], [1_500, 0])));
    await peer.finish();
    return peer.listFinalSentences().map(({ text }) => text);
  };
  assert.deepEqual(await recognize({}), ['um w20 w60. W41']);
  assert.deepEqual(await recognize({ semantic_punctuation_enabled: true }), ['um w20 w60.', 'W41']);
  assert.deepEqual(await recognize({ disfluency_removal_enabled: true }), ['w20 w60. W41']);
});

test('ends a sentence after the requested silence', async () => {
  for (const [silence, finals] of [
    [undefined, ['w20 w21']],
    [400, ['w20', 'w21']],
  ] as const) {
    const peer = createTestRealtime().open();
    await peer.start({ max_sentence_silence: silence });
    peer.session.onBinary(encodePcm16(createTestAudio([1_000, 20], [600, 0], [500, 21], [1_500, 0])));
    await peer.finish();
    assert.deepEqual(
      peer.listFinalSentences().map(({ text }) => text),
      finals,
    );
  }
});

test('sends the end of a sentence whose final text is empty', async () => {
  const scripted = createScriptedSpeechEngine();
  let calls = 0;
  const engine: SpeechEngine = {
    ...scripted,
    async recognize(request, signal) {
      const recognized = await scripted.recognize(request, signal);
      calls += 1;
      return calls === 2 ? { ...recognized, text: '', words: [] } : recognized;
    },
  };
  const peer = createTestRealtime({ engine }).open();
  await peer.start();
  peer.session.onBinary(encodePcm16(createTestAudio([1_000, 20], [500, 0])));
  await waitUntil(() => peer.listSentences().length === 1);
  peer.session.onBinary(encodePcm16(createTestAudio([500, 21], [1_500, 0], [500, 22])));
  await peer.finish();
  assert.deepEqual(
    peer.listSentences().map(({ sentence_id, sentence_end, text }) => [sentence_id, sentence_end, text]),
    [
      [1, false, 'w20'],
      [1, true, ''],
      [2, true, 'w22'],
    ],
  );
});

test('ends a task after 23 seconds without audio, with the error that clients know', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  await peer.start();
  realtime.advance(20_000);
  peer.session.onBinary(WORD);
  realtime.advance(22_999);
  peer.session.onTick();
  assert.deepEqual(peer.closes, []);
  realtime.advance(1);
  peer.session.onTick();
  assert.equal(
    peer.sent.at(-1),
    `{"header":{"task_id":"${TASK}","event":"task-failed","error_code":"CLIENT_ERROR",` +
      '"error_message":"request timeout after 23 seconds.","attributes":{}},"payload":{}}',
  );
  assert.deepEqual(peer.closes, [[1008, 'CLIENT_ERROR']]);
  assert.deepEqual(realtime.running, { recognitions: 0, leases: 0 });
});

test('sends a heartbeat every 10 seconds of silence, instead of ending the task', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  await peer.start({ heartbeat: true });
  for (let second = 0; second < 60; second += 1) {
    realtime.advance(1_000);
    peer.session.onTick();
  }
  assert.equal(peer.sent.length, 7);
  assert.equal(
    peer.sent[1],
    `{"header":{"task_id":"${TASK}","event":"result-generated","attributes":{}},"payload":{"output":{"sentence":` +
      '{"begin_time":0,"end_time":null,"text":"","heartbeat":true,"sentence_end":false,"sentence_id":1,"words":[]}},"usage":null}}',
  );
  await peer.finish();
  assert.equal(peer.getLastHeader()?.event, 'task-finished');
});

test('ends a recognition after 4 hours', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  await peer.start({ heartbeat: true });
  realtime.advance(4 * 3_600_000);
  peer.session.onTick();
  assert.deepEqual([peer.getLastHeader()?.event, peer.getLastHeader()?.error_code], ['task-failed', 'RequestTimeOut']);
});

test('closes an idle connection after 5 minutes, not one with a task', async () => {
  const realtime = createTestRealtime();
  const [idle, busy] = [realtime.open(), realtime.open()];
  await busy.start({ heartbeat: true });
  realtime.advance(300_000);
  for (const { session } of [idle, busy]) session.onTick();
  assert.deepEqual([idle.closes, busy.closes], [[[1000, 'idle']], []]);
});

test('rejects a recognition above the limit, and accepts one when another has ended', async () => {
  const realtime = createTestRealtime();
  const [first, second, third, fourth] = [realtime.open(), realtime.open(), realtime.open(), realtime.open()];
  await first.start();
  await second.start();
  await third.start();
  assert.deepEqual(
    [third.getLastHeader()?.event, third.getLastHeader()?.error_code],
    ['task-failed', 'ServiceUnavailable'],
  );
  assert.match(third.getLastHeader()?.error_message ?? '', /^2 recognitions of the workspace are running/);
  assert.deepEqual(third.closes, [[1013, 'ServiceUnavailable']]);
  second.session.onDisconnect();
  await fourth.start();
  assert.equal(fourth.getLastHeader()?.event, 'task-started');
});

test('starts no decoder above the limit', async () => {
  let opened = 0;
  const openAudio: RealtimeSessionDeps['openAudio'] = (format) => {
    opened += 1;
    return openPcmStream(format);
  };
  const realtime = createTestRealtime({ openAudio });
  await realtime.open().start();
  await realtime.open().start();
  await realtime.open().start();
  assert.equal(opened, 2);
  const rejectedPeer = realtime.open();
  await rejectedPeer.start({ format: 'amr' });
  assert.equal(rejectedPeer.getLastHeader()?.error_code, 'ServiceUnavailable');
});

test('releases the slot after an unsupported format', async () => {
  const realtime = createTestRealtime();
  for (let count = 0; count < 3; count += 1) await realtime.open().start({ format: 'amr' });
  const peer = realtime.open();
  await peer.start();
  assert.equal(peer.getLastHeader()?.event, 'task-started');
});

test('counts tasks, not connections', async () => {
  const realtime = createTestRealtime();
  const idle = Array.from({ length: 50 }, () => realtime.open());
  const peer = realtime.open();
  await peer.start();
  assert.equal(peer.getLastHeader()?.event, 'task-started');
  assert.ok(idle.every(({ sent, closes }) => sent.length + closes.length === 0));
});

/** Creates an engine that recognizes nothing until `releaseEngine` is called. */
function createSlowEngine() {
  const { promise, resolve: releaseEngine } = Promise.withResolvers<void>();
  const scripted = createScriptedSpeechEngine();
  const engine: SpeechEngine = {
    ...scripted,
    async recognize(request, signal) {
      await promise;
      return await scripted.recognize(request, signal);
    },
  };
  return { engine, releaseEngine };
}

test('pauses reading from a client that sends too fast, and does not count that time as silence', async () => {
  const { engine, releaseEngine } = createSlowEngine();
  const realtime = createTestRealtime({ engine });
  const peer = realtime.open();
  await peer.start();
  const piece = encodePcm16(createTestAudio([9_000, 20], [1_000, 0]));
  for (let count = 0; count < 6; count += 1) peer.session.onBinary(piece);
  await waitUntil(() => realtime.requests.length > 0);
  assert.equal(peer.isReadingPaused(), false);
  for (let count = 0; count < 4; count += 1) peer.session.onBinary(piece);
  await waitUntil(() => peer.isReadingPaused());
  realtime.advance(60_000);
  peer.session.onTick();
  assert.deepEqual(peer.closes, []);
  releaseEngine();
  await waitUntil(() => !peer.isReadingPaused());
  realtime.advance(22_000);
  peer.session.onTick();
  assert.deepEqual(peer.closes, []);
  await peer.finish();
  assert.equal(peer.getLastHeader()?.event, 'task-finished');
});

test('decodes a long message no faster than it is recognized', async () => {
  const { engine, releaseEngine } = createSlowEngine();
  let decoded = 0;
  async function* createLongAudio(): AsyncGenerator<RealtimeAudioEvent> {
    for (; decoded < 20; decoded += 1) yield { type: 'sound', samples: createTestAudio([9_000, 20], [1_000, 0]) };
    yield { type: 'end' };
  }
  const openAudio = () => ({
    push: async () => undefined,
    end: async () => undefined,
    events: createLongAudio(),
    close: async () => undefined,
  });
  const realtime = createTestRealtime({ engine, openAudio });
  const peer = realtime.open();
  await peer.start();
  await waitUntil(() => peer.isReadingPaused());
  for (let turns = 0; turns < 100; turns += 1) await setImmediate();
  assert.ok(decoded < 10, `${decoded * 10} seconds are in memory`);
  releaseEngine();
  await waitUntil(() => decoded === 20);
  await waitUntil(() => peer.getLastHeader()?.event === 'task-finished');
});

test('waits for the result without a time limit after finish-task', async () => {
  const { engine, releaseEngine } = createSlowEngine();
  const realtime = createTestRealtime({ engine });
  const peer = realtime.open();
  await peer.start();
  peer.session.onBinary(WORD);
  const finished = peer.finish();
  realtime.advance(60_000);
  peer.session.onTick();
  releaseEngine();
  await finished;
  assert.equal(peer.getLastHeader()?.event, 'task-finished');
});

test('aborts the recognition in the engine on disconnect', async () => {
  const aborted: unknown[] = [];
  const endlessEngine: SpeechEngine = {
    ...createScriptedSpeechEngine(),
    recognize: (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason);
          reject(signal.reason as Error);
        });
      }),
  };
  const realtime = createTestRealtime({ engine: endlessEngine });
  const peer = realtime.open();
  await peer.start();
  peer.session.onBinary(SENTENCE);
  await waitUntil(() => realtime.requests.length > 0);
  peer.session.onDisconnect();
  assert.equal(aborted.length, 1);
  assert.deepEqual(realtime.running, { recognitions: 0, leases: 0 });
  assert.equal(realtime.lines.find(({ message }) => message === 'recognition')?.['kind'], 'cancelled');
  peer.session.onDisconnect();
  assert.equal(realtime.lines.length, 1);
});

test('fails the task when the engine fails', async () => {
  const failingEngine = { ...createScriptedSpeechEngine(), recognize: () => Promise.reject(new Error('boom')) };
  const realtime = createTestRealtime({ engine: failingEngine });
  const peer = realtime.open();
  await peer.start();
  peer.session.onBinary(SENTENCE);
  await peer.finish();
  assert.deepEqual([peer.getLastHeader()?.event, peer.getLastHeader()?.error_code], ['task-failed', 'InternalError']);
  assert.ok(!peer.getLastHeader()?.error_message?.includes('boom'));
  assert.deepEqual(peer.closes, [[1011, 'InternalError']]);
  assert.equal(realtime.lines.find(({ message }) => message === 'recognition')?.['level'], 'error');
});

test('fails the task for invalid audio', async () => {
  const peer = createTestRealtime().open();
  await peer.start({ format: 'wav' });
  peer.session.onBinary(WORD);
  await waitUntil(() => peer.closes.length > 0);
  assert.match(peer.getLastHeader()?.error_message ?? '', /not a valid WAV file.*RIFF header is missing/);
});

test('ends a task within 5 seconds after its key is revoked, and starts no other', async () => {
  const realtime = createTestRealtime();
  const [peer, next] = [realtime.open(), realtime.open()];
  await peer.start();
  realtime.revokeKey();
  realtime.advance(4_999);
  peer.session.onTick();
  assert.deepEqual(peer.closes, []);
  realtime.advance(1);
  peer.session.onTick();
  await waitUntil(() => peer.closes.length > 0);
  assert.equal(peer.getLastHeader()?.error_code, 'InvalidApiKey');
  await next.start();
  assert.equal(next.getLastHeader()?.error_code, 'InvalidApiKey');
});

test('closes idle connections at once on shutdown, and others after their tasks', async () => {
  const realtime = createTestRealtime();
  const [idle, busy, slow] = [realtime.open(), realtime.open(), realtime.open()];
  await busy.start();
  await slow.start();
  for (const { session } of [idle, busy, slow]) session.drain();
  assert.deepEqual(idle.closes, [[1001, 'The service is shutting down.']]);
  await busy.finish();
  assert.equal(busy.getLastHeader()?.event, 'task-finished');
  assert.deepEqual(busy.closes, [[1001, 'The service is shutting down.']]);
  slow.session.abort(new ServiceError('overloaded', 'The service is shutting down.'));
  assert.deepEqual(
    [slow.getLastHeader()?.event, slow.getLastHeader()?.error_code],
    ['task-failed', 'ServiceUnavailable'],
  );
  assert.equal(slow.closes[0]?.[0], 1001);
});

test('closes connections whose key was revoked with the code of a refusal, not as a shutdown', async () => {
  const realtime = createTestRealtime();
  const [idle, busy] = [realtime.open(), realtime.open()];
  await busy.start();
  const reason = new ServiceError('unauthenticated', 'The key was revoked.', { replacesPrescribedText: true });
  for (const { session } of [idle, busy]) session.abort(reason);
  assert.deepEqual(idle.closes, [[1008, 'The key was revoked.']]);
  assert.equal(busy.getLastHeader()?.event, 'task-failed');
  assert.equal(busy.closes[0]?.[0], 1008);
});

test('logs one line per task, without the recognized text', async () => {
  const realtime = createTestRealtime();
  const peer = realtime.open();
  await peer.start();
  peer.session.onBinary(SENTENCE);
  await peer.finish();
  assert.deepEqual(realtime.lines, [
    {
      message: 'recognition',
      level: 'info',
      requestId: 'r1',
      taskId: TASK,
      model: 'paraformer-realtime-v2',
      kind: 'none',
      param: undefined,
      region: 'cn-beijing',
      workspace: 'primary',
      keyId: 'key_1',
      durationMs: 0,
      audioMs: 3_300,
      sentences: 1,
      hotwords: 0,
    },
  ]);
});
