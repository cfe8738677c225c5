import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { openDisk } from '../../blobs/disk.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import type { TranscriptionOrder } from '../../core/speech.ts';
import { scriptedSpeech } from '../../engines/scripted/scripted-speech.ts';
import type { RecognitionRequest, SpeechEngine } from '../../engines/speech-engine.ts';
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import { createTasks } from '../../resources/tasks/service.ts';
import { createTranscriptions, type Transcriptions } from '../../resources/transcriptions/service.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { inBlocks, levels } from '../../transcription/__fixtures__/levels.ts';
import { UnreadableAudio } from '../../transcription/opened-audio.ts';
import type { OpenAudio } from '../../transcription/opened-audio.ts';
import type { JobHandler } from '../handler.ts';
import { transcriptionJob } from './transcription.ts';
import { createAudioSources } from './transcription-audio.ts';

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const NOW = Date.parse('2026-07-01T12:00:00Z');
const ORDER: TranscriptionOrder = {
  model: 'svc-asr',
  languages: [],
  hotwords: [],
  reading: {},
  channels: [],
  wantsOne: false,
};
const HELLO = levels([500, 0], [1_000, 20], [300, 0], [1_000, 55], [1_500, 0], [1_000, 21]);

/** A file of raw samples; what begins with `broken` is none. */
const openAudio: OpenAudio = ({ read }, { channel }) => {
  let samples = 0;
  async function* blocks() {
    const pieces: Uint8Array[] = [];
    for await (const piece of await read(0)) pieces.push(Buffer.from(piece));
    const bytes = Buffer.concat(pieces);
    if (bytes.subarray(0, 6).toString() === 'broken') throw new UnreadableAudio('It is no audio.');
    const audio = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    samples = audio.length;
    // The second channel says nothing.
    for (const block of inBlocks(audio, [4_000])) yield channel === 1 ? block.map(() => 0) : block;
  }
  return {
    blocks: blocks(),
    facts: () => ({ format: 'raw', sampleRate: 16_000, durationMs: samples / 16 }),
  };
};

describe('a transcription', () => {
  let folder = '';
  let store: Store;
  let blobs: BlobStore;
  let transcriptions: Transcriptions;
  let asked: RecognitionRequest[];
  let fetched: string[];
  let web: Map<string, Buffer | (() => Promise<Buffer>)>;
  const clock = { now: () => NOW, monotonic: () => 0 };
  const bell = { ring: () => undefined };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-transcription-'));
    store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
    blobs = await openDisk({ folder });
    transcriptions = createTranscriptions({ store, clock, bell });
    asked = [];
    fetched = [];
    web = new Map([['https://a.test/hello', Buffer.from(HELLO.buffer)]]);
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const fetch: GuardedFetch = async (url) => {
    fetched.push(url);
    const found = web.get(url);
    const body = typeof found === 'function' ? await found() : found;
    return {
      status: body ? 200 : 404,
      url,
      contentType: '',
      contentDisposition: '',
      header: () => '',
      body: Readable.from(body ? [body] : []),
    };
  };

  const listening = (engine: SpeechEngine = scriptedSpeech()): SpeechEngine => ({
    ...engine,
    recognize: async (request, signal) => {
      asked.push(request);
      return await engine.recognize(request, signal);
    },
  });

  const handlerWith = (engine?: SpeechEngine): JobHandler =>
    transcriptionJob({
      store,
      clock,
      sources: createAudioSources({
        transcriptions: store.transcriptions,
        files: store.files,
        blobs,
        fetch,
        ids: systemIds,
      }),
      openAudio,
      speechFor: async () => ({ engine: listening(engine), release: () => undefined }),
    });

  const run = async (id: string, handler = handlerWith()): Promise<void> => {
    const job = (await store.jobs.findBySubject('transcription', id)) ?? assert.fail('there is no job');
    await handler.run({ job, signal: new AbortController().signal, report: () => undefined });
  };

  const begin = (sources: readonly string[], order: Partial<TranscriptionOrder> = {}): Promise<string> =>
    transcriptions.begin(OWNER, { requestId: 'r', model: 'paraformer-v2', sources, order: { ...ORDER, ...order } });

  const partsOf = async (id: string) =>
    (await store.transcriptions.parts(id)).map(({ state, code }) => [state, code ?? '']);

  const textOf = async (taskId: string, part = 0, channel = 0): Promise<string> =>
    (await transcriptions.sentences({ taskId, part, channel })).map(({ text }) => text).join(' | ');

  const statusOf = async (id: string) => (await store.tasks.findAnywhere(id))?.status;

  const blobNames = async () => (await Array.fromAsync(blobs.list())).map(({ name }) => name);

  it('hears each of its audios, and keeps none of them', async () => {
    const id = await begin(['https://a.test/hello']);
    assert.equal(await statusOf(id), 'pending');
    await run(id);
    assert.equal(await statusOf(id), 'succeeded');
    assert.equal(await textOf(id), 'w20 w55. | w21');
    const facts: unknown = JSON.parse((await store.transcriptions.parts(id))[0]?.facts ?? '');
    assert.deepEqual(facts, { format: 'raw', sampleRate: 16_000, durationMs: 5_300, channels: [0] });
    assert.deepEqual(await blobNames(), []);
  });

  it('takes a language that the model does not know for none', async () => {
    await run(await begin(['https://a.test/hello'], { languages: ['xx'] }));
    assert.deepEqual(asked[0]?.languages, []);
  });

  it('hears what its order says: languages, hotwords, how it is read', async () => {
    const hotwords = [{ text: 'Qwen', weight: 4 }];
    web.set('https://a.test/hot', Buffer.from(levels([1_000, 30], [200, 0], [1_000, 21]).buffer));
    const reading = { filter: { starred: ['w21'], dropped: [] } };
    const id = await begin(['https://a.test/hot'], { hotwords, languages: ['de'], reading });
    await run(id);
    assert.equal(await textOf(id), 'Qwen ***');
    assert.deepEqual(asked[0]?.languages, ['de']);
    assert.equal(asked[0]?.owner.priority, 'background');
  });

  it('fails an audio alone, with its reason', async () => {
    web.set('https://a.test/broken', Buffer.from('broken'));
    web.set('https://a.test/silent', Buffer.from(levels([2_000, 0]).buffer));
    const id = await begin([
      'https://a.test/none',
      'https://a.test/broken',
      'https://a.test/silent',
      'fileid://file-nobody',
      'https://a.test/hello',
    ]);
    await run(id);
    assert.deepEqual(await partsOf(id), [
      ['failed', 'InvalidFile.DownloadFailed'],
      ['failed', 'DECODE_ERROR'],
      ['failed', 'SUCCESS_WITH_NO_VALID_FRAGMENT'],
      ['failed', 'InvalidFile.DownloadFailed'],
      ['succeeded', ''],
    ]);
    assert.equal(await statusOf(id), 'succeeded');
    assert.deepEqual(await blobNames(), []);
  });

  it('fails when all of its audios do', async () => {
    const id = await begin(['https://a.test/none']);
    await run(id);
    assert.equal(await statusOf(id), 'failed');
  });

  it('is told what an address that may not be asked is', async () => {
    web.set('https://a.test/private', () => Promise.reject(new ServiceError('invalid-request', 'It is not public.')));
    const id = await begin(['https://a.test/private']);
    await run(id);
    const [part] = await store.transcriptions.parts(id);
    assert.equal(part?.message, 'The audio file cannot be downloaded. It is not public.');
    assert.equal(fetched.length, 1);
  });

  it('hears channels by themselves where that is wanted', async () => {
    const id = await begin(['https://a.test/hello'], { channels: [1, 0] });
    await run(id);
    assert.deepEqual([await textOf(id, 0, 0), await textOf(id, 0, 1)], ['w20 w55. | w21', '']);
  });

  it('goes on behind what was stored, whenever its process ended, and says the same', async () => {
    const many = levels(
      ...Array.from(
        { length: 40 },
        (_, at) =>
          [
            [1_000, 10 + (at % 30)],
            [500, 0],
          ] as const,
      ).flat(),
    );
    web.set('https://a.test/long', Buffer.from(many.buffer));
    const whole = await begin(['https://a.test/long', 'https://a.test/hello']);
    await run(whole);
    const calls = asked.length;
    for (let end = 1; end <= calls; end += 1) {
      const id = await begin(['https://a.test/long', 'https://a.test/hello']);
      asked = [];
      let left = end;
      const scripted = scriptedSpeech();
      const dying: SpeechEngine = {
        ...scripted,
        recognize: async (request, signal) => {
          left -= 1;
          if (left === 0) throw new ServiceError('overloaded', 'The process ends here.');
          return await scripted.recognize(request, signal);
        },
      };
      await assert.rejects(run(id, handlerWith(dying)), /ends here/);
      assert.equal(await statusOf(id), 'running');
      await run(id);
      for (const part of [0, 1]) assert.equal(await textOf(id, part), await textOf(whole, part), `ended at ${end}`);
      assert.equal(asked.length, calls + 1, 'only what was not stored is heard again');
      assert.deepEqual(await blobNames(), []);
    }
    assert.equal(fetched.filter((url) => url.endsWith('long')).length, calls + 1, 'nothing is fetched twice');
  });

  it('is not begun when it was cancelled before', async () => {
    const id = await begin(['https://a.test/hello']);
    const tasks = createTasks({ store, clock, bell, tell: async () => ({ output: {} }) });
    assert.equal(await tasks.cancel({ ...OWNER, workspace: 'other' }, id), false);
    assert.equal(await tasks.cancel(OWNER, id), true);
    assert.equal((await store.jobs.findBySubject('transcription', id))?.isCancelled, true);
    await run(id);
    assert.equal(fetched.length, 0);
    assert.equal(await statusOf(id), 'cancelled');
    assert.equal(await tasks.cancel(OWNER, id), false);
  });

  it('that cannot be heard at all fails with the reason', async () => {
    const id = await begin(['https://a.test/hello']);
    const job = (await store.jobs.findBySubject('transcription', id)) ?? assert.fail();
    await handlerWith().giveUp?.(job, new ServiceError('overloaded', 'No engine came up.'));
    const tasks = createTasks({ store, clock, bell, tell: async () => ({ output: {} }) });
    const task = await tasks.find(OWNER, id);
    assert.deepEqual(
      [task?.status, task?.error?.kind, task?.error?.message],
      ['failed', 'overloaded', 'No engine came up.'],
    );
  });
});
