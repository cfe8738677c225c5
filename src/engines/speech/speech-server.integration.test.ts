import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineOwner } from '../engine.ts';
import type { Recognition, RecognitionRequest } from '../speech-engine.ts';
import { energyDetector } from './energy-detector.ts';
import { createSpeechClient, type SpeechClient } from './speech-client.ts';
import { createSpeechServer } from './speech-server.ts';

const QUEUE_LENGTH = 4;

const createRequest = (id: string, fields: Partial<RecognitionRequest> = {}): RecognitionRequest => ({
  id,
  owner: { workspace: 'w', key: 'k' },
  samples: Float32Array.of(0.25, -0.5, 1),
  languages: ['en'],
  hotwords: [{ text: 'Qwen', weight: 4, language: 'en' }],
  includeWords: true,
  ...fields,
});

const createRecognition = (text: string): Recognition => ({
  text,
  language: 'en',
  words: [{ text, punctuation: '', beginMs: 0, endMs: 100 }],
  noSpeech: 0.125,
  logProbability: -0.5,
  tokens: 3,
  isBiasDropped: false,
});

describe('the speech server over its socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const never = new AbortController().signal;
  /** Recognitions that have started, in order, until the test ends them. */
  const startedCalls: {
    readonly request: RecognitionRequest;
    readonly signal: AbortSignal;
    end(text: string): void;
    fail(error: Error): void;
  }[] = [];
  const starts = new EventEmitter();
  const server = createServer(
    createSpeechServer({
      recognizer: {
        model: { languages: ['en'], samplesMax: 100, translates: false },
        recognize: (request, signal) =>
          new Promise((resolve, reject) => {
            startedCalls.push({
              request,
              signal,
              end: (text) => resolve(createRecognition(text)),
              fail: reject,
            });
            starts.emit('begin');
          }),
      },
      voice: energyDetector,
      token: 'secret',
      queueLengthMax: QUEUE_LENGTH,
      queueWaitMsMax: 30_000,
    }),
  );
  let client: SpeechClient;
  const address = { socket: join(folder, 'engine.sock') };

  before(async () => {
    server.listen(address.socket);
    await once(server, 'listening');
    client = createSpeechClient({ ...address, token: 'secret' });
  });
  after(() => {
    client.close();
    server.close();
    rmSync(folder, { recursive: true });
  });

  const nextStartedCall = async (): Promise<(typeof startedCalls)[number]> => {
    for (;;) {
      const first = startedCalls.shift();
      if (first) return first;
      await once(starts, 'begin', { signal: AbortSignal.timeout(10_000) });
    }
  };
  const recognize = (id: string, owner?: EngineOwner, signal: AbortSignal = never) =>
    client.recognize(createRequest(id, owner ? { owner } : {}), signal);

  it('transfers the request with all samples, and the complete result', async () => {
    const sent = createRequest('r1', {
      context: 'Before.',
      samples: Float32Array.from({ length: 100 }, (_, i) => Math.fround(Math.sin(i))),
    });
    const answer = client.recognize(sent, never);
    const run = await nextStartedCall();
    assert.deepEqual(run.request, sent);
    run.end('Hello');
    assert.deepEqual(await answer, createRecognition('Hello'));
  });

  it('runs one call at a time: workspaces take turns, and background calls come last', async () => {
    const first = recognize('a1', { workspace: 'a', key: 'k' });
    const run = await nextStartedCall();
    const others: Promise<Recognition>[] = [];
    /** Sends a call and waits for its arrival: the order of arrival matters. */
    const send = async (id: string, owner: EngineOwner): Promise<void> => {
      others.push(recognize(id, owner));
      await client.ping(10_000);
      await client.ping(10_000);
    };
    await send('late', { workspace: 'c', key: 'k', priority: 'background' });
    await send('a2', { workspace: 'a', key: 'k' });
    await send('a3', { workspace: 'a', key: 'k' });
    await send('b1', { workspace: 'b', key: 'k' });
    assert.equal(startedCalls.length, 0);
    run.end('a1');
    const order: string[] = [];
    for (const _ of others) {
      const each = await nextStartedCall();
      assert.equal(startedCalls.length, 0);
      order.push(each.request.id);
      each.end(each.request.id);
    }
    await first;
    await Promise.all(others);
    assert.deepEqual(order, ['a2', 'b1', 'a3', 'late']);
  });

  it('rejects calls beyond the share of a key, and notices canceled calls', async () => {
    const leaving = new AbortController();
    const running = recognize('running', undefined, leaving.signal);
    const run = await nextStartedCall();
    const cancellation = new AbortController();
    const waiting = [recognize('w1', undefined, cancellation.signal), recognize('w2')];
    await client.ping(10_000);
    await client.ping(10_000);
    await assert.rejects(recognize('w3'), { kind: 'rate-limited' });
    cancellation.abort();
    await assert.rejects(waiting[0] ?? running, { kind: 'cancelled' });
    leaving.abort(new ServiceError('timeout', 'Too slow.'));
    await assert.rejects(running, { kind: 'timeout' });
    if (!run.signal.aborted) await once(run.signal, 'abort', { signal: AbortSignal.timeout(10_000) });
    run.fail(new Error('aborted'));
    const second = await nextStartedCall();
    assert.equal(second.request.id, 'w2');
    second.end('w2');
    assert.equal((await waiting[1])?.text, 'w2');
    assert.equal(startedCalls.length, 0);
  });

  it('passes service errors on, and hides other errors behind a general message', async () => {
    const refused = recognize('r');
    (await nextStartedCall()).fail(new ServiceError('invalid-request', 'No such language.', { param: 'languages' }));
    await assert.rejects(refused, { kind: 'invalid-request', message: 'No such language.', param: 'languages' });
    const failed = recognize('r');
    (await nextStartedCall()).fail(new Error('a secret of the library'));
    await assert.rejects(failed, (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'engine-failed');
      assert.doesNotMatch(error.message, /secret/);
      assert.match(String(error.cause), /secret of the library/);
      return true;
    });
  });

  it('rejects invalid calls with the name of the field', async () => {
    for (const [fields, message] of [
      [{ samples: new Float32Array(0) }, /samples must be 1 to 100, got 0/],
      [{ samples: new Float32Array(101) }, /samples must be 1 to 100, got 101/],
      [{ hotwords: [{ text: 'x', weight: 6 }] }, /hotwords\[0\]\.weight/],
    ] as const)
      await assert.rejects(client.recognize(createRequest('r', fields), never), { kind: 'invalid-request', message });
    await assert.rejects(client.detectVoice(new Float32Array(511), undefined, never), {
      message: /complete frames of 512/,
    });
    await assert.rejects(createSpeechClient({ ...address, token: 'other' }).recognize(createRequest('r'), never));
    await assert.rejects(client.embed({ id: 'r', owner: { workspace: 'w', key: 'k' }, inputs: [] }, never));
    assert.equal(startedCalls.length, 0);
  });

  it('detects voice during a recognition, with the same result for any blocks', async () => {
    const running = recognize('running');
    const run = await nextStartedCall();
    const samples = Float32Array.from({ length: 512 * 30 }, (_, i) => (i > 512 * 9 ? 0.2 : 0.001) * Math.sin(i / 3));
    const whole = await client.detectVoice(samples, undefined, never);
    const first = await client.detectVoice(samples.subarray(0, 512 * 12), undefined, never);
    const second = await client.detectVoice(samples.subarray(512 * 12), first.state, never);
    assert.equal(whole.probabilities.length, 30);
    assert.deepEqual([...first.probabilities, ...second.probabilities], whole.probabilities);
    run.end('');
    await running;
  });
});
