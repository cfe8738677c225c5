import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../../../../test/until.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import type { Capability } from '../../../../service/capability.ts';
import { createService } from '../../../../service/service.ts';
import type { Service } from '../../../../service/service.ts';
import { createAudioTranscriptionsEndpoint } from '../../audio-transcriptions/endpoint.ts';
import type { RecognizeUpload } from '../../audio-transcriptions/endpoint.ts';
import type { RecognitionEvent } from '../../audio-transcriptions/stream.ts';

const HELLO: RecognitionEvent = {
  type: 'sentences',
  sentences: [{ text: 'Hello.', language: 'en', beginMs: 0, endMs: 1_000, words: [], logProbability: 0, noSpeech: 0 }],
};
const END: RecognitionEvent = { type: 'end', audioMetadata: { durationMs: 1_000 } };
const DELTA = 'data: {"type":"transcript.text.delta","delta":"Hello."}\n\n';
/** Generous, because the machine may be busy. */
const TIMEOUT_MS = 30_000;

/** Reads a stream without the comments that the service sends while it waits, on a busy machine also between events. */
const readWithoutKeepAlives = async (response: Response): Promise<string> =>
  (await response.text()).replaceAll(':keep-alive\n\n', '');

describe('a transcription stream of a service whose recognizer the test controls', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-transcription-stream-'));
  let recognize: RecognizeUpload;
  let service: Service;
  let url = '';
  let secret = '';

  /** Offers the endpoint of the recognition capability with the test's recognizer. */
  const capability: Capability = {
    name: 'recognition',
    open: ({ catalogue, files: { files, blobs, fileBytesMax } }) => ({
      interfaces: ['speech'],
      endpoints: [
        createAudioTranscriptionsEndpoint({
          files,
          openSource: ({ blob, sizeBytes }) => ({
            sizeBytes,
            read: (from) => blobs.read(blob, { start: from, end: sizeBytes - 1 }),
          }),
          recognize: (request, context) => recognize(request, context),
          catalogue: () => catalogue,
          findHotwords: async () => [],
          fileBytesMax,
        }),
      ],
    }),
  };

  before(async () => {
    writeFileSync(join(folder, 'parley.yaml'), 'limits: {keepAliveMs: 100}\n');
    const quiet = () => undefined;
    const env = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    service = await createService(loadConfig({ env }).config, {
      capabilities: [capability],
      log: { info: quiet, warn: quiet, error: quiet },
    });
    [{ url } = { url: '' }] = await service.listen();
    ({ secret } = await service.keys.create({ region: 'cn-beijing', workspace: 'w', name: '', expiresAt: undefined }));
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const open = async (signal?: AbortSignal): Promise<Response> => {
    const form = new FormData();
    form.append('model', 'svc-asr');
    form.append('stream', 'true');
    form.append('file', new Blob(['some audio']), 'a.wav');
    const headers = { authorization: `Bearer ${secret}` };
    const init = { method: 'POST', headers, body: form, ...(signal ? { signal } : {}) };
    return await fetch(`${url}/v1/audio/transcriptions`, init);
  };
  const listBlobs = (): readonly string[] =>
    readdirSync(join(folder, 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  const blobsAreGone = () =>
    until('the upload is deleted', { timeoutMs: TIMEOUT_MS }, async () =>
      listBlobs().length === 0 ? true : undefined,
    );

  test('keeps the upload and sends keep-alives until the recognition ends', async () => {
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    let content = '';
    recognize = async function* ({ source }) {
      await isReleased;
      for await (const bytes of await source.read(0)) content += Buffer.from(bytes).toString();
      yield [HELLO];
      yield [END];
    };
    const answer = await open();
    assert.equal(answer.status, 200);
    assert.equal(listBlobs().length, 1);
    release();
    const text = await answer.text();
    assert.match(text, /^(?::keep-alive\n\n)+data: /);
    assert.ok(
      text.endsWith(
        `${DELTA}data: {"type":"transcript.text.done","text":"Hello.","usage":{"type":"duration","seconds":1}}\n\n`,
      ),
      text,
    );
    assert.equal(content, 'some audio');
    await blobsAreGone();
  });

  test('reports a failure after the first delta as an error, without an end', async () => {
    recognize = async function* () {
      yield [HELLO];
      throw new Error('the engine process exited');
    };
    const answer = await open();
    assert.equal(answer.status, 200);
    const text = await readWithoutKeepAlives(answer);
    assert.ok(text.startsWith(`${DELTA}data: {"error":{"message":"`), text);
    assert.ok(!text.includes('transcript.text.done') && !text.includes('process exited'), text);
    await blobsAreGone();
  });

  test('reports a recognition that stops without its end as an error', async () => {
    recognize = async function* () {
      yield [HELLO];
    };
    const text = await readWithoutKeepAlives(await open());
    assert.ok(text.startsWith(`${DELTA}data: {"error":{"message":"`), text);
    assert.ok(!text.includes('transcript.text.done'), text);
  });

  test('stops the recognition and deletes the upload when the client disconnects', async () => {
    const { promise: stopped, resolve: stop } = Promise.withResolvers<unknown>();
    recognize = async function* (_request, { signal }) {
      yield [HELLO];
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
      yield [END];
    };
    const inner = recognize;
    recognize = async function* (request, context) {
      try {
        yield* inner(request, context);
      } finally {
        stop(true);
      }
    };
    const client = new AbortController();
    const answer = await open(client.signal);
    await answer.body?.getReader().read();
    client.abort();
    await stopped;
    await blobsAreGone();
  });
});
