import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { TranscriptSentence } from '../../../core/speech.ts';
import type { TranscriptionTaskRequest } from '../transcriptions/service.ts';
import type { TranscriptionPartRecord } from '../../../store/transcriptions.ts';
import { callEndpoint, TEST_REQUEST_ID } from '../../../protocols/fields/__fixtures__/test-endpoint-call.ts';
import type { EndpointCall } from '../../../protocols/fields/__fixtures__/test-endpoint-call.ts';
import { encodeTranscript, encodeTranscriptionTask } from './encode.ts';
import { createTranscriptionEndpoints } from './endpoints.ts';

const URL = 'https://a.test/hello.wav';
const ASYNC = { 'x-dashscope-async': 'enable' };

function createTestTranscription() {
  const submitted: TranscriptionTaskRequest[] = [];
  const [create] = createTranscriptionEndpoints({
    transcriptions: {
      submit: async (_owner, request) => {
        submitted.push(request);
        return 'task-1';
      },
      sentences: async () => [],
    },
    store: { tasks: { findInAnyTenant: async () => undefined }, transcriptions: { listParts: async () => [] } },
    links: { createLink: () => '', check: async () => 'key_1' },
    catalogue: () => ({
      resolve(requestedName) {
        if (requestedName === 'nobody') throw new ServiceError('model-not-found', 'The model does not exist.');
        return { requestedName, entry: { name: 'svc-asr' } } as never;
      },
    }),
    findHotwords: async (owner, id, model) => {
      if (id !== 'vocab-a-1') throw new ServiceError('invalid-request', 'The Required resource not exist.');
      return [{ text: `${owner.workspace} ${model}`, weight: 4 }];
    },
  });
  assert.ok(create);
  const post = (body: unknown, call: EndpointCall = { headers: ASYNC }) => callEndpoint(create, { ...call, body });
  return { submitted, post };
}

const body = (input: object, parameters?: object) => ({
  model: 'paraformer-v2',
  input,
  ...(parameters ? { parameters } : {}),
});

describe('native transcription endpoint', () => {
  it('creates a task and returns its id', async () => {
    const { submitted, post } = createTestTranscription();
    const reply = await post(body({ file_urls: [URL, 'fileid://file-1'] }));
    assert.equal(reply.status, 200);
    assert.equal(
      JSON.stringify(reply.body),
      `{"output":{"task_status":"PENDING","task_id":"task-1"},"request_id":"${TEST_REQUEST_ID}"}`,
    );
    assert.deepEqual(reply.headers, {});
    assert.deepEqual(submitted, [
      {
        requestId: TEST_REQUEST_ID,
        model: 'paraformer-v2',
        sources: [URL, 'fileid://file-1'],
        options: {
          model: 'svc-asr',
          languages: [],
          hotwords: [],
          reading: { dropsFillers: false },
          channels: [],
          wantsOne: false,
        },
      },
    ]);
  });

  it('decodes all parameters, and names those without effect', async () => {
    const { submitted, post } = createTestTranscription();
    const filter = { filter_with_signed: { word_list: ['a'] }, filter_with_empty: { word_list: ['b'] } };
    const reply = await post({
      ...body(
        { file_url: URL },
        {
          vocabulary_id: 'vocab-a-1',
          channel_id: [0, 1, 0],
          language_hints: ['zh', 'en', 'zh'],
          disfluency_removal_enabled: true,
          timestamp_alignment_enabled: true,
          special_word_filter: JSON.stringify({ ...filter, system_reserved_filter: true }),
          diarization_enabled: true,
          speaker_count: 2,
          phrase_id: 'p',
          louder: true,
        },
      ),
      resources: [{ resource_id: 'p', resource_type: 'asr_phrase' }],
    });
    assert.equal(reply.status, 200);
    assert.deepEqual(submitted[0]?.options, {
      model: 'svc-asr',
      languages: ['zh', 'en'],
      hotwords: [{ text: 'w paraformer-v2', weight: 4 }],
      reading: { dropsFillers: true, filter: { starred: ['a'], dropped: ['b'] } },
      channels: [0, 1],
      wantsOne: true,
    });
    assert.equal(
      reply.headers['x-parley-ignored'],
      [
        'parameters.special_word_filter.system_reserved_filter',
        'parameters.diarization_enabled',
        'parameters.speaker_count',
        'parameters.phrase_id',
        'resources',
        'parameters.louder',
      ].join(','),
    );
  });

  const REJECTED: readonly (readonly [string, unknown, RegExp, EndpointCall?])[] = [
    [
      'a request without the task header',
      body({ file_urls: [URL] }),
      /does not support synchronous calls/,
      { headers: {} },
    ],
    ['a request without audio', body({}), /input\.file_urls/],
    ['an empty list', body({ file_urls: [] }), /1 to 100 URLs/],
    ['101 audio files', body({ file_urls: Array.from({ length: 101 }, () => URL) }), /1 to 100 URLs/],
    ['a file URL of the host', body({ file_urls: [URL, 'file:///etc/passwd'] }), /file_urls\[1\] must begin with/],
    ['a URL without a scheme', body({ file_url: 'a.test/x' }), /file_url must begin with/],
    ['an invalid channel', body({ file_urls: [URL] }, { channel_id: [-1] }), /channel_id/],
    ['an invalid language', body({ file_urls: [URL] }, { language_hints: ['English'] }), /language_hints/],
    ['an invalid filter', body({ file_urls: [URL] }, { special_word_filter: '{' }), /special_word_filter/],
    ['an unknown vocabulary', body({ file_urls: [URL] }, { vocabulary_id: 'x' }), /not exist/],
    ['an unknown model', { ...body({ file_urls: [URL] }), model: 'nobody' }, /does not exist/],
  ];
  for (const [title, sent, message, call] of REJECTED) {
    it(`rejects ${title}, and submits nothing`, async () => {
      const { submitted, post } = createTestTranscription();
      const reply = await post(sent, call);
      assert.ok(reply.status >= 400 && reply.status < 500, `${reply.status}`);
      assert.match((reply.body as { message: string }).message, message);
      assert.deepEqual(submitted, []);
    });
  }
});

const PART: TranscriptionPartRecord = {
  number: 0,
  source: URL,
  state: 'succeeded',
  sourceBlob: undefined,
  sourceBytes: undefined,
  metadata: '{"format":"mp3","sampleRate":44100,"durationMs":3834,"channels":[0]}',
  code: undefined,
  message: undefined,
};
const FAILED: TranscriptionPartRecord = {
  ...PART,
  number: 1,
  source: 'https://a.test/none',
  state: 'failed',
  metadata: undefined,
  code: 'InvalidFile.DownloadFailed',
  message: 'The audio file cannot be downloaded.',
};
const createLink = ({ number }: TranscriptionPartRecord): string => `https://here/transcriptions/t/${number}`;

describe('encodeTranscriptionTask', () => {
  const encodeTask = (
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled',
    parts: TranscriptionPartRecord[],
    wantsOne = false,
  ) => JSON.stringify(encodeTranscriptionTask({ status }, { parts, wantsOne, createLink }));

  it('encodes nothing before the task runs, and the counts while it runs', () => {
    const waiting: TranscriptionPartRecord = { ...PART, state: 'waiting', metadata: undefined };
    assert.equal(encodeTask('pending', [waiting]), '{"output":{}}');
    assert.equal(encodeTask('cancelled', [waiting]), '{"output":{}}');
    assert.equal(
      encodeTask('running', [PART, waiting]),
      '{"output":{"task_metrics":{"TOTAL":2,"SUCCEEDED":1,"FAILED":0}}}',
    );
  });

  it('encodes each audio file at the end', () => {
    assert.equal(
      encodeTask('succeeded', [PART, FAILED]),
      `{"output":{"results":[{"file_url":"${URL}","transcription_url":"https://here/transcriptions/t/0","subtask_status":"SUCCEEDED"},` +
        '{"file_url":"https://a.test/none","code":"InvalidFile.DownloadFailed","message":"The audio file cannot be downloaded.","subtask_status":"FAILED"}],' +
        '"task_metrics":{"TOTAL":2,"SUCCEEDED":1,"FAILED":1}},"usage":{"duration":4}}',
    );
  });

  it('encodes the error if all audio files failed', () => {
    assert.equal(
      encodeTask('failed', [FAILED], true),
      '{"output":{"task_metrics":{"TOTAL":1,"SUCCEEDED":0,"FAILED":1},"code":"InvalidFile.DownloadFailed",' +
        '"message":"The audio file cannot be downloaded."},"usage":{"duration":0}}',
    );
  });

  it('encodes a single result for a request with a single file', () => {
    assert.equal(
      encodeTask('succeeded', [PART], true),
      '{"output":{"result":{"transcription_url":"https://here/transcriptions/t/0"},' +
        '"task_metrics":{"TOTAL":1,"SUCCEEDED":1,"FAILED":0}},"usage":{"duration":4}}',
    );
  });
});

it('encodes a transcript with the times of sentences and words', async () => {
  const sentence = (text: string, beginMs: number, language = 'en'): TranscriptSentence => ({
    text,
    language,
    beginMs,
    endMs: beginMs + 1_000,
    words: [{ text, punctuation: '', beginMs, endMs: beginMs + 1_000 }],
  });
  const sentences = async () => [sentence('Hello.', 100), sentence('World.', 2_000)];
  assert.equal(
    JSON.stringify(await encodeTranscript('t', PART, { sentences })),
    `{"file_url":"${URL}","properties":{"audio_format":"mp3","channels":[0],"original_sampling_rate":44100,"original_duration_in_milliseconds":3834},` +
      '"transcripts":[{"channel_id":0,"content_duration_in_milliseconds":2000,"text":"Hello. World.","sentences":[' +
      '{"begin_time":100,"end_time":1100,"text":"Hello.","sentence_id":1,"speaker_id":null,"words":[{"begin_time":100,"end_time":1100,"text":"Hello.","punctuation":""}]},' +
      '{"begin_time":2000,"end_time":3000,"text":"World.","sentence_id":2,"speaker_id":null,"words":[{"begin_time":2000,"end_time":3000,"text":"World.","punctuation":""}]}]}]}',
  );
  const chinese = await encodeTranscript('t', PART, {
    sentences: async () => [sentence('你好。', 0, 'zh'), sentence('再见。', 9, 'zh')],
  });
  assert.match(JSON.stringify(chinese), /"text":"你好。再见。"/);
});
