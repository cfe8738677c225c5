import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { Sentence } from '../../../core/speech.ts';
import type { TranscriptionWish } from '../../../resources/transcriptions/service.ts';
import type { PartRecord } from '../../../store/transcriptions.ts';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import type { Asked } from '../../fields/__fixtures__/ask.ts';
import { encodeTranscript, encodeTranscriptionTask } from './encode.ts';
import { nativeTranscription } from './endpoints.ts';

const URL = 'https://a.test/hello.wav';
const ASYNC = { 'x-dashscope-async': 'enable' };

function room() {
  const begun: TranscriptionWish[] = [];
  const [create] = nativeTranscription({
    transcriptions: {
      begin: async (_owner, wish) => {
        begun.push(wish);
        return 'task-1';
      },
      sentences: async () => [],
    },
    store: { tasks: { findAnywhere: async () => undefined }, transcriptions: { parts: async () => [] } },
    links: { linkTo: () => '', check: () => undefined },
    catalogue: () => ({
      resolve(asked) {
        if (asked === 'nobody') throw new ServiceError('model-not-found', 'There is no such model.');
        return { asked, entry: { name: 'svc-asr' } } as never;
      },
    }),
    findHotwords: async (owner, id, model) => {
      if (id !== 'vocab-a-1') throw new ServiceError('invalid-request', 'The Required resource not exist.');
      return [{ text: `${owner.workspace} ${model}`, weight: 4 }];
    },
  });
  assert.ok(create);
  const post = (body: unknown, asked: Asked = { headers: ASYNC }) => ask(create, { ...asked, body });
  return { begun, post };
}

const body = (input: object, parameters?: object) => ({
  model: 'paraformer-v2',
  input,
  ...(parameters ? { parameters } : {}),
});

describe('a transcription on the native interface', () => {
  it('is a task from the beginning', async () => {
    const { begun, post } = room();
    const said = await post(body({ file_urls: [URL, 'fileid://file-1'] }));
    assert.equal(said.status, 200);
    assert.equal(
      JSON.stringify(said.body),
      `{"output":{"task_status":"PENDING","task_id":"task-1"},"request_id":"${REQUEST_ID}"}`,
    );
    assert.deepEqual(said.headers, {});
    assert.deepEqual(begun, [
      {
        requestId: REQUEST_ID,
        model: 'paraformer-v2',
        sources: [URL, 'fileid://file-1'],
        order: {
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

  it('hears all of its parameters, and names those that nobody here can honour', async () => {
    const { begun, post } = room();
    const filter = { filter_with_signed: { word_list: ['a'] }, filter_with_empty: { word_list: ['b'] } };
    const said = await post({
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
    assert.equal(said.status, 200);
    assert.deepEqual(begun[0]?.order, {
      model: 'svc-asr',
      languages: ['zh', 'en'],
      hotwords: [{ text: 'w paraformer-v2', weight: 4 }],
      reading: { dropsFillers: true, filter: { starred: ['a'], dropped: ['b'] } },
      channels: [0, 1],
      wantsOne: true,
    });
    assert.equal(
      said.headers['x-parley-ignored'],
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

  const wrong: readonly (readonly [string, unknown, RegExp, Asked?])[] = [
    ['without the header of a task', body({ file_urls: [URL] }), /does not support synchronous calls/, { headers: {} }],
    ['without an audio', body({}), /input\.file_urls/],
    ['with an empty list', body({ file_urls: [] }), /1 to 100 addresses/],
    ['with 101 audios', body({ file_urls: Array.from({ length: 101 }, () => URL) }), /1 to 100 addresses/],
    ['with a file of the machine', body({ file_urls: [URL, 'file:///etc/passwd'] }), /file_urls\[1\] must begin with/],
    ['with an address without a scheme', body({ file_url: 'a.test/x' }), /file_url must begin with/],
    ['with a channel that is none', body({ file_urls: [URL] }, { channel_id: [-1] }), /channel_id/],
    ['with a language that is none', body({ file_urls: [URL] }, { language_hints: ['English'] }), /language_hints/],
    ['with a filter that is none', body({ file_urls: [URL] }, { special_word_filter: '{' }), /special_word_filter/],
    ['with a vocabulary that is not there', body({ file_urls: [URL] }, { vocabulary_id: 'x' }), /not exist/],
    ['of a model that is not there', { ...body({ file_urls: [URL] }), model: 'nobody' }, /no such model/],
  ];
  for (const [what, sent, message, asked] of wrong) {
    it(`${what} is refused, and nothing begins`, async () => {
      const { begun, post } = room();
      const said = await post(sent, asked);
      assert.ok(said.status >= 400 && said.status < 500, `${said.status}`);
      assert.match((said.body as { message: string }).message, message);
      assert.deepEqual(begun, []);
    });
  }
});

const PART: PartRecord = {
  number: 0,
  source: URL,
  state: 'succeeded',
  sourceBlob: undefined,
  sourceBytes: undefined,
  facts: '{"format":"mp3","sampleRate":44100,"durationMs":3834,"channels":[0]}',
  code: undefined,
  message: undefined,
};
const FAILED: PartRecord = {
  ...PART,
  number: 1,
  source: 'https://a.test/none',
  state: 'failed',
  facts: undefined,
  code: 'InvalidFile.DownloadFailed',
  message: 'The audio file cannot be downloaded.',
};
const linkOf = ({ number }: PartRecord): string => `https://here/transcriptions/t/${number}`;

describe('what a task says of its audios', () => {
  const told = (
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled',
    parts: PartRecord[],
    wantsOne = false,
  ) => JSON.stringify(encodeTranscriptionTask({ status }, { parts, wantsOne, linkOf }));

  it('is nothing before it runs, and how many there are while it does', () => {
    const waiting: PartRecord = { ...PART, state: 'waiting', facts: undefined };
    assert.equal(told('pending', [waiting]), '{"output":{}}');
    assert.equal(told('cancelled', [waiting]), '{"output":{}}');
    assert.equal(told('running', [PART, waiting]), '{"output":{"task_metrics":{"TOTAL":2,"SUCCEEDED":1,"FAILED":0}}}');
  });

  it('is each of them at the end', () => {
    assert.equal(
      told('succeeded', [PART, FAILED]),
      `{"output":{"results":[{"file_url":"${URL}","transcription_url":"https://here/transcriptions/t/0","subtask_status":"SUCCEEDED"},` +
        '{"file_url":"https://a.test/none","code":"InvalidFile.DownloadFailed","message":"The audio file cannot be downloaded.","subtask_status":"FAILED"}],' +
        '"task_metrics":{"TOTAL":2,"SUCCEEDED":1,"FAILED":1}},"usage":{"duration":4}}',
    );
  });

  it('is why all of them failed', () => {
    assert.equal(
      told('failed', [FAILED], true),
      '{"output":{"task_metrics":{"TOTAL":1,"SUCCEEDED":0,"FAILED":1},"code":"InvalidFile.DownloadFailed",' +
        '"message":"The audio file cannot be downloaded."},"usage":{"duration":0}}',
    );
  });

  it('is one where one was asked for', () => {
    assert.equal(
      told('succeeded', [PART], true),
      '{"output":{"result":{"transcription_url":"https://here/transcriptions/t/0"},' +
        '"task_metrics":{"TOTAL":1,"SUCCEEDED":1,"FAILED":0}},"usage":{"duration":4}}',
    );
  });
});

it('what was heard is told with the times of its sentences and words', async () => {
  const sentence = (text: string, beginMs: number, language = 'en'): Sentence => ({
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
