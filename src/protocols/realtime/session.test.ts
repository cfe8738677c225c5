import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pcm, wavFile } from '../../audio/__fixtures__/wav-file.ts';
import fc from 'fast-check';
import { ServiceError } from '../../core/error.ts';
import { scriptedSpeech } from '../../engines/scripted/scripted-speech.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import { openPcmStream } from '../../transcription/pcm-stream.ts';
import { levels } from '../../transcription/__fixtures__/levels.ts';
import type { AudioEvent } from './audio-stream.ts';
import type { SessionNeeds } from './session.ts';
import { OTHER, TASK, command, createHouse, runTask, until } from './__fixtures__/realtime-house.ts';

const SENTENCE = pcm(levels([500, 0], [1_000, 20], [300, 60], [1_500, 0]));
const WORD = pcm(levels([1_000, 20], [1_500, 0]));

test('a task is told byte by byte as clients know it', async () => {
  const peer = createHouse().open();
  await peer.start();
  peer.session.binary(SENTENCE.subarray(0, 60_000));
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

test('what was heard so far has no end and no usage yet', async () => {
  const peer = createHouse().open();
  await peer.start();
  peer.session.binary(SENTENCE.subarray(0, 72_000));
  await until(() => peer.sentences().length > 0);
  assert.equal(
    peer.sent[1],
    `{"header":{"task_id":"${TASK}","event":"result-generated","attributes":{}},"payload":{"output":{"sentence":` +
      '{"begin_time":500,"end_time":null,"text":"w20 w60.","heartbeat":false,"sentence_end":false,"sentence_id":1,"words":' +
      '[{"begin_time":500,"end_time":1500,"text":"w20 ","punctuation":""},{"begin_time":1500,"end_time":1800,"text":"w60","punctuation":". "}]}},' +
      '"usage":null}}',
  );
});

test('a failure is told byte by byte, and the connection closed', () => {
  const peer = createHouse().open();
  peer.session.text(command('stop-task', {}));
  assert.deepEqual(peer.sent, [
    `{"header":{"task_id":"${TASK}","event":"task-failed","error_code":"InvalidParameter","error_message":` +
      '"header.action must be one of \\"run-task\\", \\"continue-task\\", \\"finish-task\\", got \\"stop-task\\".",' +
      '"attributes":{}},"payload":{}}',
  ]);
  assert.deepEqual(peer.closes, [[1008, 'InvalidParameter']]);
});

test('a connection takes another task when the one before has finished', async () => {
  const house = createHouse();
  const peer = house.open();
  for (const id of [TASK, OTHER, OTHER.toUpperCase()]) {
    await peer.start({}, {}, id);
    peer.session.binary(WORD);
    await peer.finish(id);
    assert.equal(peer.last()?.task_id, id);
  }
  assert.deepEqual(
    peer.finals().map(({ sentence_id, text }) => [sentence_id, text]),
    [
      [1, 'w20'],
      [1, 'w20'],
      [1, 'w20'],
    ],
  );
  assert.deepEqual(house.running, { recognitions: 0, leases: 0 });
});

test('who does not wait for task-started is heard all the same', async () => {
  const peer = createHouse().open();
  peer.run();
  peer.session.binary(WORD);
  peer.session.binary(WORD);
  await peer.finish();
  assert.deepEqual(
    peer.finals().map(({ text }) => text),
    ['w20', 'w20'],
  );
  assert.deepEqual(peer.closes, []);
});

test('who does not wait for task-started is not read without end', async () => {
  let go = (): void => undefined;
  const { needs } = createHouse();
  const house = createHouse({
    async speechFor(model) {
      await new Promise<void>((resolve) => (go = resolve));
      return await needs.speechFor(model);
    },
  });
  const peer = house.open();
  peer.run();
  // Each costs a little besides its bytes.
  for (let count = 0; count < 800; count += 1) peer.session.binary(WORD.subarray(0, 1_000));
  assert.equal(peer.isHeld(), false);
  for (let count = 0; count < 200; count += 1) peer.session.binary(WORD.subarray(0, 1_000));
  assert.equal(peer.isHeld(), true);
  await until(() => {
    go();
    return peer.names().includes('task-started');
  });
  assert.equal(peer.isHeld(), false);
  await peer.finish();
  assert.equal(peer.finals().at(-1)?.end_time, 31_250);
});

test('nor is what it says besides audio', async () => {
  const peer = createHouse({ speechFor: () => new Promise(() => undefined) }).open();
  peer.run();
  const context = [{ role: 'user', content: [{ type: 'input_text', text: 'x'.repeat(200_000) }] }];
  for (let count = 0; count < 5; count += 1) peer.session.text(command('continue-task', { input: { context } }));
  assert.equal(peer.isHeld(), false);
  peer.session.text(command('continue-task', { input: { context } }));
  assert.equal(peer.isHeld(), true);
});

test('audio may be cut anywhere: the sentences are the same', async () => {
  const audio = levels([300, 0], [700, 20], [300, 60], [1_500, 0], [900, 41], [1_400, 0], [2_000, 22], [700, 61]);
  const file = wavFile(pcm(audio));
  const heard = async (form: object, bytes: Uint8Array, sizes: readonly number[]) => {
    const peer = createHouse().open();
    await peer.start(form);
    for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
      const size = sizes[piece % sizes.length] ?? bytes.length;
      peer.session.binary(bytes.subarray(at, at + size));
      at += size;
    }
    await peer.finish();
    return peer.finals();
  };
  const whole = await heard({}, pcm(audio), [file.length]);
  assert.deepEqual(
    whole.map(({ text }) => text),
    ['w20 w60.', 'W41', 'w22 w61.'],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 8 }), async (sizes) => {
      // A million frames of a byte would say no more than some.
      const cuts = sizes.length === 1 ? [...sizes, 12_800] : sizes;
      assert.deepEqual(await heard({}, pcm(audio), cuts), whole);
      assert.deepEqual(await heard({ format: 'wav' }, file, cuts), whole);
    }),
    { numRuns: 8 },
  );
});

type Step = (peer: ReturnType<ReturnType<typeof createHouse>['open']>) => void | Promise<void>;
const binary: Step = ({ session }) => session.binary(WORD);
const say =
  (text: string): Step =>
  ({ session }) =>
    session.text(text);
const start: Step = (peer) => peer.start();
const FINISH = command('finish-task', { input: {} });

const OUT_OF_ORDER: readonly (readonly [name: string, steps: readonly Step[], says: RegExp])[] = [
  ['audio before run-task', [binary], /^Audio came without a task/],
  ['audio after finish-task', [start, say(FINISH), binary], /^Audio came after finish-task\.$/],
  ['a second run-task', [start, say(runTask({}, {}, OTHER))], /^Task 0123456789abcdef0123456789abcdef has not ended/],
  ['a second run-task at once', [(peer) => peer.run(), say(runTask())], /has not ended on this connection/],
  ['finish-task without a task', [say(FINISH)], /^finish-task came without a task/],
  [
    'audio after finish-task, both before task-started',
    [(peer) => peer.run(), say(FINISH), binary],
    /^Audio came after finish-task/,
  ],
  ['finish-task twice', [start, say(FINISH), say(FINISH)], /^finish-task came after finish-task/],
  [
    'finish-task of another task',
    [start, say(command('finish-task', {}, OTHER))],
    /another task than the one that runs/,
  ],
  [
    'continue-task without a task',
    [say(command('continue-task', { input: {} }))],
    /^continue-task came without a task/,
  ],
  ['half of a message', [start, say(FINISH.slice(0, 30))], /one whole JSON object/],
  ['no object', [say('[]')], /must be a JSON object/],
  ['no header', [say('{}')], /Required parameter\(header\)/],
  ['no task id', [say('{"header":{"action":"run-task"}}')], /task_id/],
  ['a task id that is none', [say(runTask({}, {}, 'task-1'))], /^A task id is a UUID.*header\.task_id: "task-1"/],
  ['a stream that is no duplex', [say(runTask().replace('duplex', 'out'))], /^header\.streaming must be "duplex"/],
  ['another task group', [say(runTask({}, { task_group: 'tts' }))], /^payload\.task_group must be "audio"/],
  ['too long a message', [say(`{"x":"${'x'.repeat(300_000)}"}`)], /at most 262144 bytes/],
  [
    'too much audio at once',
    [start, ({ session }) => session.binary(new Uint8Array(1_100_000))],
    /at most 1048576 bytes/,
  ],
];

for (const [name, steps, says] of OUT_OF_ORDER) {
  test(`${name} fails the task in words, and ends the connection`, async () => {
    const house = createHouse();
    const peer = house.open();
    for (const step of steps) await step(peer);
    await until(() => peer.closes.length > 0);
    assert.equal(peer.last()?.event, 'task-failed');
    assert.match(peer.last()?.error_message ?? '', says);
    assert.equal(peer.closes.length, 1);
    const count = peer.sent.length;
    // Nothing is heard of what is still on its way.
    for (const step of steps) await Promise.race([step(peer), until(() => true)]);
    await until(() => house.running.leases === 0 && house.running.recognitions === 0);
    assert.equal(peer.sent.length, count);
  });
}

const REFUSED: readonly (readonly [parameters: object, code: string, says: RegExp])[] = [
  [{ format: undefined }, 'InvalidParameter', /parameters\.format/],
  [{ format: 'amr' }, 'UnsupportedOperation', /"amr" is not read here; pcm, wav, mp3, aac and opus are/],
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
    /whole number from 1 to 5\. \(payload\.parameters\.vocabulary: 6\)/,
  ],
  [{ vocabulary: { Parley: '4' } }, 'InvalidParameter', /whole number from 1 to 5/],
  [{ vocabulary: { ' ': 4 } }, 'InvalidParameter', /has 1 to 100 characters/],
  [{ vocabulary: ['Parley'] }, 'InvalidParameter', /vocabulary must be an object, got an array of 1/],
  [
    { vocabulary: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`w${at}`, 1])) },
    'InvalidParameter',
    /at most 500 words/,
  ],
  [{ vocabulary_id: 'vocab-b-1' }, 'NotFound', /no such vocabulary/],
  [{ language_hints: ['english'] }, 'InvalidParameter', /two or three letters/],
  [{ language_hints: ['xx'] }, 'InvalidParameter', /knows en, zh, de.*language_hints: "xx"/],
  [{ special_word_filter: '{' }, 'InvalidParameter', /special_word_filter/],
  [
    { special_word_filter: '{"filter_with_empty":{"word_list":[5]}}' },
    'InvalidParameter',
    /word_list\[0\] must be a string/,
  ],
];

for (const [parameters, code, says] of REFUSED) {
  test(`refuses ${JSON.stringify(parameters).slice(0, 80)}`, async () => {
    const house = createHouse();
    const peer = house.open();
    await peer.start(parameters);
    assert.deepEqual([peer.last()?.event, peer.last()?.error_code], ['task-failed', code]);
    assert.match(peer.last()?.error_message ?? '', says);
    assert.deepEqual(house.running, { recognitions: 0, leases: 0 });
  });
}

test('a model that there is not fails the task, not the handshake', async () => {
  const peer = createHouse().open();
  await peer.start({}, { model: 'nix' });
  assert.equal(peer.last()?.error_code, 'ModelNotFound');
  assert.match(peer.last()?.error_message ?? '', /^Model can not be found\. The model `nix` does not exist/);
});

test('names what it was asked for and does not do, in task-started and in the log', async () => {
  const house = createHouse();
  const peer = house.open();
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
  assert.deepEqual(peer.last()?.attributes, { 'x-parley-ignored': ignored });
  await peer.finish();
  assert.equal(house.lines.find(({ message }) => message === 'recognition')?.['ignored'], ignored);
});

test('where the service is strict, a field that nobody knows is refused', async () => {
  const peer = createHouse({ strict: true }).open();
  await peer.start({ foo: 1 });
  assert.match(peer.last()?.error_message ?? '', /payload\.parameters\.foo is not a field/);
});

test('hears for the words of a vocabulary, and for those that came with the task', async () => {
  const house = createHouse();
  const peer = house.open();
  await peer.start({ vocabulary_id: 'vocab-a-1', vocabulary: { Qwen: 5, 'Alan Kay': 1 } });
  peer.session.binary(pcm(levels([1_000, 30], [1_500, 0])));
  await peer.finish();
  assert.deepEqual(house.asked[0]?.hotwords, [
    { text: 'Parley', weight: 4 },
    { text: 'Qwen', weight: 5 },
    { text: 'Alan Kay', weight: 1 },
  ]);
  assert.equal(peer.finals()[0]?.text, 'Qwen');
});

test('what is spoken of goes to the model, and may change while somebody speaks', async () => {
  const house = createHouse();
  const peer = house.open();
  const context = (text: string) => ({
    input: { context: [{ role: 'user', content: [{ type: 'input_text', text }] }] },
  });
  await peer.start({ language_hints: ['DE', 'yue'] }, context('Kernphysik'));
  peer.session.binary(WORD);
  await until(() => peer.finals().length === 1);
  peer.session.text(command('continue-task', context('Gärtnern')));
  peer.session.binary(WORD);
  await peer.finish();
  assert.deepEqual([...new Set(house.asked.map((request) => request.context))], ['Kernphysik', 'Gärtnern']);
  assert.deepEqual(house.asked[0]?.languages, ['de', 'zh']);
});

test('leaves out what a caller does not want to read', async () => {
  const peer = createHouse().open();
  await peer.start({
    punctuation_prediction_enabled: false,
    semantic_punctuation_enabled: true,
    special_word_filter: JSON.stringify({
      filter_with_signed: { word_list: ['w20'] },
      filter_with_empty: { word_list: ['w23', 'w22'] },
    }),
  });
  peer.session.binary(pcm(levels([500, 20], [500, 60], [500, 41], [500, 22], [1_500, 0], [500, 23], [1_500, 0])));
  await peer.finish();
  assert.deepEqual(
    peer.finals().map(({ text, sentence_id }) => [sentence_id, text]),
    [
      [1, '*** w60'],
      [2, 'W41'],
    ],
  );
});

test('punctuation ends sentences, and hesitation is left out, where that is wanted only', async () => {
  const hear = async (parameters: object): Promise<readonly string[]> => {
    const peer = createHouse().open();
    await peer.start({ vocabulary: { um: 5 }, ...parameters });
    peer.session.binary(pcm(levels([500, 30], [500, 20], [500, 60], [500, 41], [1_500, 0])));
    await peer.finish();
    return peer.finals().map(({ text }) => text);
  };
  assert.deepEqual(await hear({}), ['um w20 w60. W41']);
  assert.deepEqual(await hear({ semantic_punctuation_enabled: true }), ['um w20 w60.', 'W41']);
  assert.deepEqual(await hear({ disfluency_removal_enabled: true }), ['w20 w60. W41']);
});

test('a sentence ends with as much silence as the caller says', async () => {
  for (const [silence, finals] of [
    [undefined, ['w20 w21']],
    [400, ['w20', 'w21']],
  ] as const) {
    const peer = createHouse().open();
    await peer.start({ max_sentence_silence: silence });
    peer.session.binary(pcm(levels([1_000, 20], [600, 0], [500, 21], [1_500, 0])));
    await peer.finish();
    assert.deepEqual(
      peer.finals().map(({ text }) => text),
      finals,
    );
  }
});

test('of a sentence that turns out to be none the end is told, too', async () => {
  const scripted = scriptedSpeech();
  let calls = 0;
  const engine: SpeechEngine = {
    ...scripted,
    async recognize(request, signal) {
      const heard = await scripted.recognize(request, signal);
      calls += 1;
      return calls === 2 ? { ...heard, text: '', words: [] } : heard;
    },
  };
  const peer = createHouse({ engine }).open();
  await peer.start();
  peer.session.binary(pcm(levels([1_000, 20], [500, 0])));
  await until(() => peer.sentences().length === 1);
  peer.session.binary(pcm(levels([500, 21], [1_500, 0], [500, 22])));
  await peer.finish();
  assert.deepEqual(
    peer.sentences().map(({ sentence_id, sentence_end, text }) => [sentence_id, sentence_end, text]),
    [
      [1, false, 'w20'],
      [1, true, ''],
      [2, true, 'w22'],
    ],
  );
});

test('23 seconds without audio end a task, and the words are the ones that clients know', async () => {
  const house = createHouse();
  const peer = house.open();
  await peer.start();
  house.pass(20_000);
  peer.session.binary(WORD);
  house.pass(22_999);
  peer.session.tick();
  assert.deepEqual(peer.closes, []);
  house.pass(1);
  peer.session.tick();
  assert.equal(
    peer.sent.at(-1),
    `{"header":{"task_id":"${TASK}","event":"task-failed","error_code":"CLIENT_ERROR",` +
      '"error_message":"request timeout after 23 seconds.","attributes":{}},"payload":{}}',
  );
  assert.deepEqual(peer.closes, [[1008, 'CLIENT_ERROR']]);
  assert.deepEqual(house.running, { recognitions: 0, leases: 0 });
});

test('with a heartbeat silence ends nothing, and a sign of life comes every 10 seconds', async () => {
  const house = createHouse();
  const peer = house.open();
  await peer.start({ heartbeat: true });
  for (let second = 0; second < 60; second += 1) {
    house.pass(1_000);
    peer.session.tick();
  }
  assert.equal(peer.sent.length, 7);
  assert.equal(
    peer.sent[1],
    `{"header":{"task_id":"${TASK}","event":"result-generated","attributes":{}},"payload":{"output":{"sentence":` +
      '{"begin_time":0,"end_time":null,"text":"","heartbeat":true,"sentence_end":false,"sentence_id":1,"words":[]}},"usage":null}}',
  );
  await peer.finish();
  assert.equal(peer.last()?.event, 'task-finished');
});

test('no recognition lasts for ever', async () => {
  const house = createHouse();
  const peer = house.open();
  await peer.start({ heartbeat: true });
  house.pass(4 * 3_600_000);
  peer.session.tick();
  assert.deepEqual([peer.last()?.event, peer.last()?.error_code], ['task-failed', 'RequestTimeOut']);
});

test('a connection with nothing to do is closed after a while, one that works is not', async () => {
  const house = createHouse();
  const [idle, busy] = [house.open(), house.open()];
  await busy.start({ heartbeat: true });
  house.pass(300_000);
  for (const { session } of [idle, busy]) session.tick();
  assert.deepEqual([idle.closes, busy.closes], [[[1000, 'idle']], []]);
});

test('one recognition more than there may be is told so, and the next is taken when one has ended', async () => {
  const house = createHouse();
  const [one, two, three, four] = [house.open(), house.open(), house.open(), house.open()];
  await one.start();
  await two.start();
  await three.start();
  assert.deepEqual([three.last()?.event, three.last()?.error_code], ['task-failed', 'ServiceUnavailable']);
  assert.match(three.last()?.error_message ?? '', /^2 recognitions are running/);
  assert.deepEqual(three.closes, [[1013, 'ServiceUnavailable']]);
  two.session.gone();
  await four.start();
  assert.equal(four.last()?.event, 'task-started');
});

test('whoever finds no place starts no decoder', async () => {
  let opened = 0;
  const openAudio: SessionNeeds['openAudio'] = (form) => {
    opened += 1;
    return openPcmStream(form);
  };
  const house = createHouse({ openAudio });
  await house.open().start();
  await house.open().start();
  await house.open().start();
  assert.equal(opened, 2);
  const refused = house.open();
  await refused.start({ format: 'amr' });
  assert.equal(refused.last()?.error_code, 'ServiceUnavailable');
});

test('a format that is refused gives its place back', async () => {
  const house = createHouse();
  for (let count = 0; count < 3; count += 1) await house.open().start({ format: 'amr' });
  const peer = house.open();
  await peer.start();
  assert.equal(peer.last()?.event, 'task-started');
});

test('connections that ask for nothing take no place', async () => {
  const house = createHouse();
  const idle = Array.from({ length: 50 }, () => house.open());
  const peer = house.open();
  await peer.start();
  assert.equal(peer.last()?.event, 'task-started');
  assert.ok(idle.every(({ sent, closes }) => sent.length + closes.length === 0));
});

/** Hears nothing until it may. */
function slowEngine() {
  const { promise, resolve: go } = Promise.withResolvers<void>();
  const scripted = scriptedSpeech();
  const engine: SpeechEngine = {
    ...scripted,
    async recognize(request, signal) {
      await promise;
      return await scripted.recognize(request, signal);
    },
  };
  return { engine, go };
}

test('who sends faster than can be heard is held back, and is not silent meanwhile', async () => {
  const { engine, go } = slowEngine();
  const house = createHouse({ engine });
  const peer = house.open();
  await peer.start();
  const piece = pcm(levels([9_000, 20], [1_000, 0]));
  for (let count = 0; count < 6; count += 1) peer.session.binary(piece);
  await until(() => house.asked.length > 0);
  assert.equal(peer.isHeld(), false);
  for (let count = 0; count < 4; count += 1) peer.session.binary(piece);
  await until(() => peer.isHeld());
  house.pass(60_000);
  peer.session.tick();
  assert.deepEqual(peer.closes, []);
  go();
  await until(() => !peer.isHeld());
  house.pass(22_000);
  peer.session.tick();
  assert.deepEqual(peer.closes, []);
  await peer.finish();
  assert.equal(peer.last()?.event, 'task-finished');
});

test('a message of hours is decoded no faster than it is heard', async () => {
  const { engine, go } = slowEngine();
  let decoded = 0;
  async function* hours(): AsyncGenerator<AudioEvent> {
    for (; decoded < 60; decoded += 1) yield { type: 'sound', samples: levels([9_000, 20], [1_000, 0]) };
    yield { type: 'end' };
  }
  const openAudio = () => ({
    push: async () => undefined,
    end: async () => undefined,
    events: hours(),
    close: async () => undefined,
  });
  const house = createHouse({ engine, openAudio });
  const peer = house.open();
  await peer.start();
  await until(() => peer.isHeld());
  for (let turns = 0; turns < 100; turns += 1) await setImmediate();
  assert.ok(decoded < 10, `${decoded * 10} seconds are in memory`);
  go();
  await until(() => decoded === 60);
  await until(() => peer.last()?.event === 'task-finished');
});

test('whoever has sent everything waits as long as it takes', async () => {
  const { engine, go } = slowEngine();
  const house = createHouse({ engine });
  const peer = house.open();
  await peer.start();
  peer.session.binary(WORD);
  const finished = peer.finish();
  house.pass(60_000);
  peer.session.tick();
  go();
  await finished;
  assert.equal(peer.last()?.event, 'task-finished');
});

test('a caller who leaves ends the work at the engine', async () => {
  const aborted: unknown[] = [];
  const endless: SpeechEngine = {
    ...scriptedSpeech(),
    recognize: (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason);
          reject(signal.reason as Error);
        });
      }),
  };
  const house = createHouse({ engine: endless });
  const peer = house.open();
  await peer.start();
  peer.session.binary(SENTENCE);
  await until(() => house.asked.length > 0);
  peer.session.gone();
  assert.equal(aborted.length, 1);
  assert.deepEqual(house.running, { recognitions: 0, leases: 0 });
  assert.equal(house.lines.find(({ message }) => message === 'recognition')?.['kind'], 'cancelled');
  peer.session.gone();
  assert.equal(house.lines.length, 1);
});

test('an engine that fails fails the task', async () => {
  const failing = { ...scriptedSpeech(), recognize: () => Promise.reject(new Error('boom')) };
  const house = createHouse({ engine: failing });
  const peer = house.open();
  await peer.start();
  peer.session.binary(SENTENCE);
  await peer.finish();
  assert.deepEqual([peer.last()?.event, peer.last()?.error_code], ['task-failed', 'InternalError']);
  assert.ok(!peer.last()?.error_message?.includes('boom'));
  assert.deepEqual(peer.closes, [[1011, 'InternalError']]);
  assert.equal(house.lines.find(({ message }) => message === 'recognition')?.['level'], 'error');
});

test('audio that is none fails the task', async () => {
  const peer = createHouse().open();
  await peer.start({ format: 'wav' });
  peer.session.binary(WORD);
  await until(() => peer.closes.length > 0);
  assert.match(peer.last()?.error_message ?? '', /no WAV file.*does not begin as one/);
});

test('a key that is revoked ends what runs within 5 seconds, and starts nothing', async () => {
  const house = createHouse();
  const [peer, next] = [house.open(), house.open()];
  await peer.start();
  house.revokeKey();
  house.pass(4_999);
  peer.session.tick();
  assert.deepEqual(peer.closes, []);
  house.pass(1);
  peer.session.tick();
  await until(() => peer.closes.length > 0);
  assert.equal(peer.last()?.error_code, 'InvalidApiKey');
  await next.start();
  assert.equal(next.last()?.error_code, 'InvalidApiKey');
});

test('at shutdown the idle go at once, the others when they have finished, and nothing new begins', async () => {
  const house = createHouse();
  const [idle, busy, slow] = [house.open(), house.open(), house.open()];
  await busy.start();
  await slow.start();
  for (const { session } of [idle, busy, slow]) session.drain();
  assert.deepEqual(idle.closes, [[1001, 'The service is shutting down.']]);
  await busy.finish();
  assert.equal(busy.last()?.event, 'task-finished');
  assert.deepEqual(busy.closes, [[1001, 'The service is shutting down.']]);
  slow.session.end(new ServiceError('overloaded', 'The service is shutting down.'));
  assert.deepEqual([slow.last()?.event, slow.last()?.error_code], ['task-failed', 'ServiceUnavailable']);
  assert.equal(slow.closes[0]?.[0], 1001);
});

test('the log has a line for each task, with what it was and without what was said', async () => {
  const house = createHouse();
  const peer = house.open();
  await peer.start();
  peer.session.binary(SENTENCE);
  await peer.finish();
  assert.deepEqual(house.lines, [
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
