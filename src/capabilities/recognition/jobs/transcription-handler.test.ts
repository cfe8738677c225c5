import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { scalePositions } from '../../../../test/property-runs.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDiskBlobStore } from '../../../blobs/disk-blob-store.ts';
import { changeDiskBlob, flipBitAt } from '../../../blobs/__fixtures__/change-disk-blob.ts';
import { createVerifiedBlobStore } from '../../../blobs/verified-blob-store.ts';
import { ServiceError } from '../../../core/error.ts';
import { systemIdGenerator } from '../../../core/id.ts';
import type { TranscriptionRequest } from '../../../core/speech.ts';
import { createScriptedSpeechEngine } from '../../../engines/scripted/scripted-speech-engine.ts';
import type { RecognitionRequest, SpeechEngine } from '../../../engines/speech-engine.ts';
import type { GuardedFetch } from '../../../net/guarded-fetch.ts';
import { createTasks } from '../tasks/service.ts';
import { createTranscriptions, type Transcriptions } from '../transcriptions/service.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import { splitIntoBlocks, createTestAudio } from '../transcription/__fixtures__/test-audio.ts';
import { UnreadableAudioError } from '../transcription/audio-opener.ts';
import type { AudioOpener } from '../transcription/audio-opener.ts';
import type { JobHandler } from '../../../jobs/handler.ts';
import { createTranscriptionHandler } from './transcription-handler.ts';
import { createAudioSources } from './audio-sources.ts';

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const NOW = Date.parse('2026-07-01T12:00:00Z');
const DEFAULT_REQUEST: TranscriptionRequest = {
  model: 'svc-asr',
  languages: [],
  hotwords: [],
  reading: {},
  channels: [],
  wantsOne: false,
};
const HELLO = createTestAudio([500, 0], [1_000, 20], [300, 0], [1_000, 55], [1_500, 0], [1_000, 21]);

/** Reads raw samples; a file that starts with `broken` is unreadable. */
const openAudio: AudioOpener = ({ read }, { channel }) => {
  let samples = 0;
  async function* blocks() {
    const pieces: Uint8Array[] = [];
    for await (const piece of await read(0)) pieces.push(Buffer.from(piece));
    const bytes = Buffer.concat(pieces);
    if (bytes.subarray(0, 6).toString() === 'broken') throw new UnreadableAudioError('It is no audio.');
    const audio = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    samples = audio.length;
    // The second channel is silent.
    for (const block of splitIntoBlocks(audio, [4_000])) yield channel === 1 ? block.map(() => 0) : block;
  }
  return {
    blocks: blocks(),
    getMetadata: () => ({ format: 'raw', sampleRate: 16_000, durationMs: samples / 16 }),
  };
};

describe('createTranscriptionHandler', () => {
  let folder = '';
  let store: Store;
  let blobs: BlobStore;
  let transcriptions: Transcriptions;
  let recognitions: RecognitionRequest[];
  let fetchedUrls: string[];
  let webFiles: Map<string, Buffer | (() => Promise<Buffer>)>;
  const clock = { now: () => NOW, monotonic: () => 0 };
  const notifier = { notify: () => undefined };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-transcription-'));
    store = await openTestStore();
    blobs = createVerifiedBlobStore(await openDiskBlobStore({ folder }), {
      hashes: store.blobHashes,
      onDamage: () => undefined,
    });
    transcriptions = createTranscriptions({ store, clock, notifier });
    recognitions = [];
    fetchedUrls = [];
    webFiles = new Map([['https://a.test/hello', Buffer.from(HELLO.buffer)]]);
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const fetch: GuardedFetch = async (url) => {
    fetchedUrls.push(url);
    const found = webFiles.get(url);
    const body = typeof found === 'function' ? await found() : found;
    return {
      status: body ? 200 : 404,
      url,
      contentType: '',
      contentDisposition: '',
      getHeader: () => '',
      body: Readable.from(body ? [body] : []),
    };
  };

  const recordRequests = (engine: SpeechEngine = createScriptedSpeechEngine()): SpeechEngine => ({
    ...engine,
    recognize: async (request, signal) => {
      recognitions.push(request);
      return await engine.recognize(request, signal);
    },
  });

  const createHandler = (engine?: SpeechEngine): JobHandler =>
    createTranscriptionHandler({
      store,
      clock,
      sources: createAudioSources({
        transcriptions: store.transcriptions,
        files: store.files,
        blobs,
        fetch,
        ids: systemIdGenerator,
      }),
      openAudio,
      leaseSpeechEngine: async () => ({ engine: recordRequests(engine), release: () => undefined }),
    });

  const run = async (id: string, handler = createHandler()): Promise<void> => {
    const job = (await store.jobs.findBySubject('transcription', id)) ?? assert.fail('there is no job');
    await handler.run({ job, signal: new AbortController().signal, report: () => undefined });
  };

  const submit = (sources: readonly string[], order: Partial<TranscriptionRequest> = {}): Promise<string> =>
    transcriptions.submit(OWNER, {
      requestId: 'r',
      model: 'paraformer-v2',
      sources,
      options: { ...DEFAULT_REQUEST, ...order },
    });

  const listPartStates = async (id: string) =>
    (await store.transcriptions.listParts(id)).map(({ state, code }) => [state, code ?? '']);

  const readText = async (taskId: string, part = 0, channel = 0): Promise<string> =>
    (await transcriptions.sentences({ taskId, part, channel })).map(({ text }) => text).join(' | ');

  const findStatus = async (id: string) => (await store.tasks.findInAnyTenant(id))?.status;

  const listBlobNames = async () => (await Array.fromAsync(blobs.list())).map(({ name }) => name);

  it('transcribes its audio and deletes the download', async () => {
    const id = await submit(['https://a.test/hello']);
    assert.equal(await findStatus(id), 'pending');
    await run(id);
    assert.equal(await findStatus(id), 'succeeded');
    assert.equal(await readText(id), 'w20 w55. | w21');
    const metadata: unknown = JSON.parse((await store.transcriptions.listParts(id))[0]?.metadata ?? '');
    assert.deepEqual(metadata, { format: 'raw', sampleRate: 16_000, durationMs: 5_300, channels: [0] });
    assert.deepEqual(await listBlobNames(), []);
  });

  it('ignores a language that the model does not support', async () => {
    await run(await submit(['https://a.test/hello'], { languages: ['xx'] }));
    assert.deepEqual(recognitions[0]?.languages, []);
  });

  it('applies languages, hotwords and filters of the request', async () => {
    const hotwords = [{ text: 'Qwen', weight: 4 }];
    webFiles.set('https://a.test/hot', Buffer.from(createTestAudio([1_000, 30], [200, 0], [1_000, 21]).buffer));
    const reading = { filter: { starred: ['w21'], dropped: [] } };
    const id = await submit(['https://a.test/hot'], { hotwords, languages: ['de'], reading });
    await run(id);
    assert.equal(await readText(id), 'Qwen ***');
    assert.deepEqual(recognitions[0]?.languages, ['de']);
    assert.equal(recognitions[0]?.owner.priority, 'background');
  });

  it('fails only the audio that has an error', async () => {
    webFiles.set('https://a.test/broken', Buffer.from('broken'));
    webFiles.set('https://a.test/silent', Buffer.from(createTestAudio([2_000, 0]).buffer));
    const id = await submit([
      'https://a.test/none',
      'https://a.test/broken',
      'https://a.test/silent',
      'fileid://file-nobody',
      'https://a.test/hello',
    ]);
    await run(id);
    assert.deepEqual(await listPartStates(id), [
      ['failed', 'InvalidFile.DownloadFailed'],
      ['failed', 'DECODE_ERROR'],
      ['failed', 'SUCCESS_WITH_NO_VALID_FRAGMENT'],
      ['failed', 'InvalidFile.DownloadFailed'],
      ['succeeded', ''],
    ]);
    assert.equal(await findStatus(id), 'succeeded');
    assert.deepEqual(await listBlobNames(), []);
  });

  it('fails an audio whose stored copy is damaged', async () => {
    const id = await submit(['https://a.test/hello']);
    const { sizeBytes: bytes } = await blobs.put('audio_1', Readable.from([Buffer.from(HELLO.buffer)]));
    // As if the process had been killed after the download.
    await store.transcriptions.setSource(id, 0, { blob: 'audio_1', bytes });
    await changeDiskBlob(folder, 'audio_1', flipBitAt(bytes - 1));
    await run(id);
    assert.deepEqual(await listPartStates(id), [['failed', 'InvalidFile.DownloadFailed']]);
    assert.match((await store.transcriptions.listParts(id))[0]?.message ?? '', /damaged or lost/);
    assert.deepEqual([fetchedUrls, await listBlobNames()], [[], []]);
  });

  it('fails if all audio files fail', async () => {
    const id = await submit(['https://a.test/none']);
    await run(id);
    assert.equal(await findStatus(id), 'failed');
  });

  it('reports why a URL must not be fetched', async () => {
    webFiles.set('https://a.test/private', () =>
      Promise.reject(new ServiceError('invalid-request', 'It is not public.')),
    );
    const id = await submit(['https://a.test/private']);
    await run(id);
    const [part] = await store.transcriptions.listParts(id);
    assert.equal(part?.message, 'The audio file cannot be downloaded. It is not public.');
    assert.equal(fetchedUrls.length, 1);
  });

  it('transcribes requested channels separately', async () => {
    const id = await submit(['https://a.test/hello'], { channels: [1, 0] });
    await run(id);
    assert.deepEqual([await readText(id, 0, 0), await readText(id, 0, 1)], ['w20 w55. | w21', '']);
  });

  it('resumes after the last stored window with the same result', async () => {
    const many = createTestAudio(
      ...Array.from(
        { length: 40 },
        (_, at) =>
          [
            [1_000, 10 + (at % 30)],
            [500, 0],
          ] as const,
      ).flat(),
    );
    webFiles.set('https://a.test/long', Buffer.from(many.buffer));
    const whole = await submit(['https://a.test/long', 'https://a.test/hello']);
    await run(whole);
    const calls = recognitions.length;
    const ends = scalePositions(calls).map((position) => position + 1);
    for (const end of ends) {
      const id = await submit(['https://a.test/long', 'https://a.test/hello']);
      recognitions = [];
      let callsLeft = end;
      const scripted = createScriptedSpeechEngine();
      const failingEngine: SpeechEngine = {
        ...scripted,
        recognize: async (request, signal) => {
          callsLeft -= 1;
          if (callsLeft === 0) throw new ServiceError('overloaded', 'The process ends here.');
          return await scripted.recognize(request, signal);
        },
      };
      await assert.rejects(run(id, createHandler(failingEngine)), /ends here/);
      assert.equal(await findStatus(id), 'running');
      await run(id);
      for (const part of [0, 1]) assert.equal(await readText(id, part), await readText(whole, part), `ended at ${end}`);
      assert.equal(recognitions.length, calls + 1, 'only the window that was not stored is transcribed again');
      assert.deepEqual(await listBlobNames(), []);
    }
    assert.equal(fetchedUrls.filter((url) => url.endsWith('long')).length, ends.length + 1, 'nothing is fetched twice');
  });

  it('does not start a cancelled task', async () => {
    const id = await submit(['https://a.test/hello']);
    const tasks = createTasks({ store, clock, notifier, encodeResult: async () => ({ output: {} }) });
    assert.equal(await tasks.cancel({ ...OWNER, workspace: 'other' }, id), false);
    assert.equal(await tasks.cancel(OWNER, id), true);
    assert.equal((await store.jobs.findBySubject('transcription', id))?.isCancelled, true);
    await run(id);
    assert.equal(fetchedUrls.length, 0);
    assert.equal(await findStatus(id), 'cancelled');
    assert.equal(await tasks.cancel(OWNER, id), false);
  });

  it('fails with the reason when it is given up', async () => {
    const id = await submit(['https://a.test/hello']);
    const job = (await store.jobs.findBySubject('transcription', id)) ?? assert.fail();
    await createHandler().giveUp?.(job, new ServiceError('overloaded', 'No engine came up.'));
    const tasks = createTasks({ store, clock, notifier, encodeResult: async () => ({ output: {} }) });
    const task = await tasks.find(OWNER, id);
    assert.deepEqual(
      [task?.status, task?.error?.kind, task?.error?.message],
      ['failed', 'overloaded', 'No engine came up.'],
    );
  });
});
