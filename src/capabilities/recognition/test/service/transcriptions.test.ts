import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../../../../test/until.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import { createTestWav } from '../../transcription/__fixtures__/test-wav.ts';
import { recognition } from '../../recognition-capability.ts';
import { createService } from '../../../../service/service.ts';
import type { Service } from '../../../../service/service.ts';

type Fields = Readonly<Record<string, unknown>>;

interface TaskAnswer {
  readonly output: {
    readonly task_id: string;
    readonly task_status: string;
    readonly code?: string;
    readonly results?: readonly { readonly transcription_url?: string; readonly code?: string }[];
    readonly result?: { readonly transcription_url: string };
  };
  readonly usage?: { readonly duration: number };
}

const PATH = '/api/v1/services/audio/asr/transcription';
const FINAL_STATUSES = ['SUCCEEDED', 'FAILED', 'CANCELED'];
/** Generous, because the machine may be busy. */
const TIMEOUT_MS = 30_000;

const HELLO = createTestWav([500, 0], [1_000, 30], [300, 0], [1_000, 55], [1_500, 0], [1_000, 21]);

describe('transcription endpoints of the complete service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-transcriptions-'));
  const web = createServer(({ url = '' }, response) => {
    if (url === '/hello.wav') response.end(HELLO);
    else if (url === '/broken.wav') response.end('no audio at all');
    else response.writeHead(404).end();
  });
  let site = '';
  let service: Service | undefined;
  let url = '';
  const lines: Fields[] = [];

  before(async () => {
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    site = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    const quiet = () => undefined;
    const env = {
      PARLEY_DATA: folder,
      PARLEY_PORT: '0',
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_HUB_URL: 'off',
      PARLEY_SPEECH_ALLOW: '127.0.0.1',
    };
    const log = {
      info: (_message: string, logFields: Fields = {}) => void lines.push(logFields),
      warn: quiet,
      error: quiet,
    };
    service = await createService(loadConfig({ env }).config, {
      capabilities: [recognition],
      log,
      jobTiming: { renewMs: 50, pollMs: 50 },
    });
    [{ url } = { url: '' }] = await service.listen();
  });
  after(async () => {
    await service?.close();
    web.close();
    rmSync(folder, { recursive: true });
  });

  const secrets = new Map<string, string>();
  const getSecret = async (workspace: string): Promise<string> => {
    const draft = { region: 'cn-beijing', workspace, name: '', expiresAt: undefined } as const;
    const secret = secrets.get(workspace) ?? (await service?.keys.create(draft))?.secret ?? assert.fail();
    secrets.set(workspace, secret);
    return secret;
  };
  const send = async (method: string, path: string, body?: FormData | object, workspace = 'primary') =>
    await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await getSecret(workspace)}`,
        'x-dashscope-async': 'enable',
        ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      },
      ...(body ? { body: body instanceof FormData ? body : JSON.stringify(body) } : {}),
    });
  const sendForJson = async (method: string, path: string, body?: FormData | object, workspace?: string) => {
    const answer = await send(method, path, body, workspace);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return JSON.parse(text) as Fields;
  };
  const transcribe = async (input: object, parameters: object = {}, model = 'paraformer-v2'): Promise<TaskAnswer> => {
    const started = (await sendForJson('POST', PATH, { model, input, parameters })) as unknown as TaskAnswer;
    assert.equal(started.output.task_status, 'PENDING');
    for (const startedAt = performance.now(); ;) {
      const task = (await sendForJson('GET', `/api/v1/tasks/${started.output.task_id}`)) as unknown as TaskAnswer;
      if (FINAL_STATUSES.includes(task.output.task_status)) return task;
      assert.ok(performance.now() - startedAt < TIMEOUT_MS, JSON.stringify(task));
    }
  };
  const fetchTranscriptText = async (address: string | undefined): Promise<string> => {
    const answer = await fetch(address ?? assert.fail('no address'));
    const { transcripts } = (await answer.json()) as { transcripts: readonly { text: string }[] };
    return transcripts.map(({ text }) => text).join(' | ');
  };
  const upload = async (bytes: Buffer, name: string): Promise<string> => {
    const form = new FormData();
    form.append('purpose', 'file-extract');
    form.append('file', new Blob([new Uint8Array(bytes)]), name);
    return String((await sendForJson('POST', '/v1/files', form))['id']);
  };

  test('transcribes audio by URL and by file id, each independently', async () => {
    const id = await upload(HELLO, 'hello.wav');
    const sources = [`${site}/hello.wav`, `fileid://${id}`, `${site}/none.wav`, `${site}/broken.wav`];
    const task = await transcribe({ file_urls: sources });
    assert.equal(task.output.task_status, 'SUCCEEDED');
    assert.deepEqual(
      task.output.results?.map(({ code = '' }) => code),
      ['', '', 'InvalidFile.DownloadFailed', 'DECODE_ERROR'],
    );
    for (const at of [0, 1])
      assert.equal(await fetchTranscriptText(task.output.results?.[at]?.transcription_url), 'w30 w55. w21');
    assert.equal(task.usage?.duration, 12);
    const audioBlobs = readdirSync(join(folder, 'blobs'), { recursive: true }).filter((name) =>
      String(name).includes('audio_'),
    );
    assert.deepEqual(audioBlobs, []);
  });

  test('lists speech models in every model list, and reports both paths as on', async () => {
    const { data } = (await sendForJson('GET', '/v1/models')) as { data: readonly { id: string }[] };
    const modelIds = new Set(data.map(({ id }) => id));
    assert.deepEqual(
      ['svc-asr', 'svc-asr-realtime'].filter((name) => !modelIds.has(name)),
      [],
    );
    assert.equal((await sendForJson('GET', '/compatible-mode/v1/models/fun-asr'))['id'], 'fun-asr');
    const { output } = await sendForJson('GET', '/api/v1/models?model=svc-asr&page_no=1&page_size=1');
    assert.equal((output as { total: number }).total, 1);
    const { interfaces } = (await service?.buildReport()) ?? assert.fail();
    const on = interfaces.filter(({ name, state }) => name.startsWith('Speech recognition') && state === 'on');
    assert.deepEqual(
      on.flatMap(({ paths }) => paths),
      [PATH, '/compatible-mode/v1/audio/transcriptions'],
    );
  });

  const createVocabulary = async (): Promise<string> => {
    const { output } = await sendForJson('POST', '/api/v1/services/audio/asr/customization', {
      model: 'speech-biasing',
      input: {
        action: 'create_vocabulary',
        target_model: 'paraformer-v2',
        prefix: 'a',
        vocabulary: [{ text: 'Qwen', weight: 4 }],
      },
    });
    return (output as { vocabulary_id: string }).vocabulary_id;
  };

  test('applies a vocabulary, and refuses one of another model', async () => {
    const vocabulary_id = await createVocabulary();
    const task = await transcribe({ file_urls: [`${site}/hello.wav`] }, { vocabulary_id });
    assert.equal(await fetchTranscriptText(task.output.results?.[0]?.transcription_url), 'Qwen w55. w21');
    const other = await send('POST', PATH, {
      model: 'paraformer-realtime-v2',
      input: { file_urls: [`${site}/hello.wav`] },
      parameters: { vocabulary_id },
    });
    assert.equal(other.status, 400, await other.text());
  });

  test('hides a task and its transcript from other workspaces', async () => {
    const task = await transcribe({ file_url: `${site}/hello.wav` });
    const { task_id: id, result } = task.output;
    assert.equal(await fetchTranscriptText(result?.transcription_url), 'w30 w55. w21');
    const posted = (await sendForJson('POST', `/api/v1/tasks/${id}`)) as unknown as TaskAnswer;
    assert.equal(posted.output.task_status, 'SUCCEEDED', 'asked for by POST, as the platform shows it');
    const foreign = (await sendForJson('GET', `/api/v1/tasks/${id}`, undefined, 'other')) as unknown as TaskAnswer;
    assert.equal(foreign.output.task_status, 'UNKNOWN');
    const address = new URL(result?.transcription_url ?? '');
    address.pathname = `/transcriptions/${id}/1`;
    assert.equal((await fetch(address)).status, 403);
    address.search = '';
    assert.equal((await fetch(address)).status, 403);
    const unknown = await sendForJson('GET', '/api/v1/tasks/nix');
    for (const { code = '', message = '' } of [unknown, posted as unknown as Fields])
      assert.deepEqual([code, message], ['', ''], 'a success has no error');
    const list = await sendForJson('GET', '/api/v1/tasks?page_size=100');
    const ids = (list['data'] as readonly { task_id: string; user_api_unique_key: string }[]).filter(
      ({ task_id }) => task_id === id,
    );
    assert.equal(ids[0]?.user_api_unique_key, 'apikey:v1:audio:asr:transcription:paraformer-v2');
    assert.deepEqual((await sendForJson('GET', '/api/v1/tasks', undefined, 'other'))['data'], []);
    assert.equal((await send('POST', `/api/v1/tasks/${id}/cancel`)).status, 400, 'the task has finished');
  });

  test('fails a task with the reason when no audio could be transcribed', async () => {
    const task = await transcribe({ file_urls: [`${site}/none.wav`] });
    assert.deepEqual([task.output.task_status, task.output.code], ['FAILED', 'InvalidFile.DownloadFailed']);
  });

  const createForm = (bytes: Buffer, fields: Readonly<Record<string, string>>): FormData => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', new Blob([new Uint8Array(bytes)]), 'hello.wav');
    return form;
  };
  const TRANSCRIPTIONS = '/v1/audio/transcriptions';
  const listBlobs = (): readonly string[] =>
    readdirSync(join(folder, 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);

  test('answers directly in the requested format, and stores nothing', async () => {
    const listStored = async () => [
      (await sendForJson('GET', '/v1/files'))['data'],
      readdirSync(join(folder, 'blobs'), { recursive: true }).filter((name) => String(name).includes('_')),
    ];
    const before = await listStored();
    const plain = await sendForJson('POST', TRANSCRIPTIONS, createForm(HELLO, { model: 'svc-asr' }));
    assert.deepEqual(plain, { text: 'w30 w55. w21', usage: { type: 'duration', seconds: 6 } });
    const srt = await send('POST', TRANSCRIPTIONS, createForm(HELLO, { model: 'svc-asr', response_format: 'srt' }));
    assert.equal(
      await srt.text(),
      '1\n00:00:00,500 --> 00:00:02,800\nw30 w55.\n\n2\n00:00:04,300 --> 00:00:05,300\nw21\n\n',
    );
    const verbose = await sendForJson(
      'POST',
      TRANSCRIPTIONS,
      createForm(HELLO, {
        model: 'svc-asr',
        response_format: 'verbose_json',
        language: 'de',
        'timestamp_granularities[]': 'word',
      }),
    );
    assert.deepEqual([verbose['language'], verbose['duration']], ['german', 5.3]);
    assert.deepEqual(verbose['words'], [
      { word: 'w30', start: 0.5, end: 1.5 },
      { word: 'w55', start: 1.8, end: 2.8 },
      { word: 'w21', start: 4.3, end: 5.3 },
    ]);
    assert.deepEqual(await listStored(), before);
  });

  test('streams a delta for each sentence and the whole text at the end, and stores nothing', async () => {
    const storedBlobs = listBlobs();
    for (const response_format of ['json', 'text']) {
      const fields = { model: 'svc-asr', stream: 'true', response_format, temperature: '0.5' };
      const answer = await send('POST', TRANSCRIPTIONS, createForm(HELLO, fields));
      assert.equal(answer.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
      assert.equal(answer.headers.get('x-parley-ignored'), 'temperature');
      assert.equal(
        await answer.text(),
        'data: {"type":"transcript.text.delta","delta":"w30 w55."}\n\n' +
          'data: {"type":"transcript.text.delta","delta":" w21"}\n\n' +
          'data: {"type":"transcript.text.done","text":"w30 w55. w21","usage":{"type":"duration","seconds":6}}\n\n',
      );
    }
    await until('the uploads are deleted', { timeoutMs: TIMEOUT_MS }, async () => {
      return listBlobs().length === storedBlobs.length ? true : undefined;
    });
    const unstreamed = await sendForJson(
      'POST',
      TRANSCRIPTIONS,
      createForm(HELLO, { model: 'svc-asr', stream: 'False' }),
    );
    assert.equal(unstreamed['text'], 'w30 w55. w21');
  });

  test('applies a vocabulary to an upload, streamed or not, with the errors of the native interface', async () => {
    const vocabulary_id = await createVocabulary();
    for (const stream of ['false', 'true']) {
      const fields = { model: 'paraformer-v2', vocabulary_id, stream };
      assert.match(
        await (await send('POST', TRANSCRIPTIONS, createForm(HELLO, fields))).text(),
        /"text":"Qwen w55\. w21"/,
      );
      for (const [change, status, message] of [
        [{ model: 'paraformer-realtime-v2' }, 400, /vocabulary_id must name a vocabulary of the requested model/],
        [{ vocabulary_id: 'vocab-a-none' }, 400, /Vocabulary 'vocab-a-none' not found/],
      ] as const) {
        const answer = await send('POST', TRANSCRIPTIONS, createForm(HELLO, { ...fields, ...change }));
        const { error } = (await answer.json()) as { error: { message: string; param: string } };
        assert.deepEqual([answer.status, error.param], [status, 'vocabulary_id']);
        assert.match(error.message, message);
      }
    }
    const foreign = await send(
      'POST',
      TRANSCRIPTIONS,
      createForm(HELLO, { model: 'paraformer-v2', vocabulary_id }),
      'other',
    );
    assert.equal(foreign.status, 400, await foreign.text());
  });

  const TRANSLATIONS = '/v1/audio/translations';

  test('translates an upload in the requested format, and stores nothing', async () => {
    const storedBlobs = listBlobs();
    const answer = await send('POST', TRANSLATIONS, createForm(HELLO, { model: 'svc-asr', language: 'de' }));
    assert.equal(answer.headers.get('x-parley-ignored'), 'language');
    assert.deepEqual(await answer.json(), { text: 't30 t55. t21', usage: { type: 'duration', seconds: 6 } });
    const format = async (response_format: string) =>
      await (await send('POST', TRANSLATIONS, createForm(HELLO, { model: 'svc-asr', response_format }))).text();
    assert.equal(await format('text'), 't30 t55. t21\n');
    assert.equal(
      await format('srt'),
      '1\n00:00:00,500 --> 00:00:02,800\nt30 t55.\n\n2\n00:00:04,300 --> 00:00:05,300\nt21\n\n',
    );
    assert.match(await format('vtt'), /^WEBVTT\n\n00:00:00\.500 --> 00:00:02\.800\nt30 t55\.\n\n/);
    assert.match(
      await format('verbose_json'),
      /^\{"task":"translate","language":"english","duration":5\.3,"text":"t30 t55\. t21","segments":\[\{"id":0,/,
    );
    assert.deepEqual(listBlobs(), storedBlobs);
  });

  test('refuses a translation with an invalid field, naming it', async () => {
    for (const [fields, status, message] of [
      [{}, 400, /model/],
      [{ model: 'nobody' }, 404, /nobody/],
      [{ model: 'svc-asr', response_format: 'docx' }, 400, /response_format must be one of json, text, srt, vtt/],
      [{ model: 'svc-asr', temperature: '2' }, 400, /temperature must be a number from 0 to 1/],
    ] as const) {
      const answer = await send('POST', TRANSLATIONS, createForm(HELLO, fields));
      const { error } = (await answer.json()) as { error: { message: string } };
      assert.equal(answer.status, status);
      assert.match(error.message, message);
    }
    const noAudio = await send('POST', TRANSLATIONS, createForm(Buffer.from('no audio'), { model: 'svc-asr' }));
    assert.equal(((await noAudio.json()) as { error: { param: string } }).error.param, 'file');
  });

  const invalidRequests: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
    ['a missing model', {}, /model/],
    ['an unknown model', { model: 'nobody' }, /nobody/],
    ['a text model', { model: 'svc-plus' }, /svc-plus/],
    ['an unknown language', { model: 'svc-asr', language: 'xx' }, /xx/],
    ['an unknown format', { model: 'svc-asr', response_format: 'docx' }, /response_format/],
    [
      'a stream of subtitles',
      { model: 'svc-asr', stream: 'true', response_format: 'srt' },
      /response_format must be json/,
    ],
    [
      'a stream of verbose JSON',
      { model: 'svc-asr', stream: 'true', response_format: 'verbose_json' },
      /response_format must be json or text with stream true/,
    ],
    ['an unknown stream mode', { model: 'svc-asr', stream: 'maybe' }, /stream must be true or false/],
    ['an unknown language in a stream', { model: 'svc-asr', stream: 'true', language: 'xx' }, /xx/],
    [
      'word timestamps in a format without them',
      { model: 'svc-asr', 'timestamp_granularities[]': 'word' },
      /timestamp_granularities/,
    ],
  ];
  for (const [title, fields, message] of invalidRequests) {
    test(`refuses ${title}, naming the field`, async () => {
      const answer = await send('POST', TRANSCRIPTIONS, createForm(HELLO, fields));
      const { error } = (await answer.json()) as { error: { message: string } };
      assert.ok(answer.status === 400 || answer.status === 404, String(answer.status));
      assert.match(error.message, message);
    });
  }

  test('logs the model and the audio duration', async () => {
    const answer = await send('POST', TRANSCRIPTIONS, createForm(HELLO, { model: 'fun-asr', response_format: 'text' }));
    const id = answer.headers.get('x-request-id');
    // The log line may follow the response.
    const line = await until('the log line of the request', { timeoutMs: TIMEOUT_MS }, async () =>
      lines.find(({ requestId }) => requestId === id),
    );
    const { requestedModel: name, model, audioMs, sentences } = line;
    assert.deepEqual([name, model, audioMs, sentences], ['fun-asr', 'svc-asr', 5_300, 2]);
    assert.ok(!JSON.stringify(line).includes('w30'), 'the log contains no transcript');
  });

  test('refuses a file that is no audio, naming the field', async () => {
    const answer = await send('POST', TRANSCRIPTIONS, createForm(Buffer.from('no audio at all'), { model: 'svc-asr' }));
    const { error } = (await answer.json()) as { error: { message: string; param: string } };
    assert.deepEqual([answer.status, error.param], [400, 'file']);
  });

  test('refuses a stream of a file that is no audio with 400, before the stream starts', async () => {
    const form = createForm(Buffer.from('no audio at all'), { model: 'svc-asr', stream: 'true' });
    const answer = await send('POST', TRANSCRIPTIONS, form);
    const { error } = (await answer.json()) as { error: { param: string } };
    assert.deepEqual([answer.status, error.param], [400, 'file']);
  });
});
