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
import { createSpeechClient } from './speech-client.ts';
import type { SpeechClient } from './speech-client.ts';
import { createSpeechServer } from './speech-server.ts';

const PLACES = 4;

const request = (id: string, fields: Partial<RecognitionRequest> = {}): RecognitionRequest => ({
  id,
  owner: { workspace: 'w', key: 'k' },
  samples: Float32Array.of(0.25, -0.5, 1),
  languages: ['en'],
  hotwords: [{ text: 'Qwen', weight: 4, language: 'en' }],
  wantsWords: true,
  ...fields,
});

const recognition = (text: string): Recognition => ({
  text,
  language: 'en',
  words: [{ text, punctuation: '', beginMs: 0, endMs: 100 }],
  noSpeech: 0.125,
  logProbability: -0.5,
  tokens: 3,
  isBiasDropped: false,
});

describe('the process that hears speech, over its socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const never = new AbortController().signal;
  /** Recognitions that have begun, in order, until they are told to end. */
  const begun: {
    readonly request: RecognitionRequest;
    readonly signal: AbortSignal;
    end(text: string): void;
    fail(error: Error): void;
  }[] = [];
  const begins = new EventEmitter();
  const server = createServer(
    createSpeechServer({
      recognizer: {
        model: { languages: ['en'], samplesMax: 100 },
        recognize: (asked, signal) =>
          new Promise((resolve, reject) => {
            begun.push({ request: asked, signal, end: (text) => resolve(recognition(text)), fail: reject });
            begins.emit('begin');
          }),
      },
      voice: energyDetector,
      token: 'secret',
      queuePlacesMax: PLACES,
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

  const next = async (): Promise<(typeof begun)[number]> => {
    for (;;) {
      const first = begun.shift();
      if (first) return first;
      await once(begins, 'begin', { signal: AbortSignal.timeout(10_000) });
    }
  };
  const ask = (id: string, owner?: EngineOwner, signal: AbortSignal = never) =>
    client.recognize(request(id, owner ? { owner } : {}), signal);

  it('hears what was asked for, to the last sample, and answers with all that it heard', async () => {
    const asked = request('r1', {
      context: 'Before.',
      samples: Float32Array.from({ length: 100 }, (_, i) => Math.fround(Math.sin(i))),
    });
    const answer = client.recognize(asked, never);
    const run = await next();
    assert.deepEqual(run.request, asked);
    run.end('Hello');
    assert.deepEqual(await answer, recognition('Hello'));
  });

  it('runs one at a time, in turn between workspaces, background ones last', async () => {
    const first = ask('a1', { workspace: 'a', key: 'k' });
    const run = await next();
    const others: Promise<Recognition>[] = [];
    /** One after another: the order of arrival is part of the question. */
    const send = async (id: string, owner: EngineOwner): Promise<void> => {
      others.push(ask(id, owner));
      await client.ping(10_000);
      await client.ping(10_000);
    };
    await send('late', { workspace: 'c', key: 'k', priority: 'background' });
    await send('a2', { workspace: 'a', key: 'k' });
    await send('a3', { workspace: 'a', key: 'k' });
    await send('b1', { workspace: 'b', key: 'k' });
    assert.equal(begun.length, 0);
    run.end('a1');
    const order: string[] = [];
    for (const _ of others) {
      const each = await next();
      assert.equal(begun.length, 0);
      order.push(each.request.id);
      each.end(each.request.id);
    }
    await first;
    await Promise.all(others);
    assert.deepEqual(order, ['a2', 'b1', 'a3', 'late']);
  });

  it('refuses one too many of a key, and hears of those who leave, waiting or not', async () => {
    const leaving = new AbortController();
    const running = ask('running', undefined, leaving.signal);
    const run = await next();
    const gone = new AbortController();
    const waiting = [ask('w1', undefined, gone.signal), ask('w2')];
    await client.ping(10_000);
    await client.ping(10_000);
    await assert.rejects(ask('w3'), { kind: 'rate-limited' });
    gone.abort();
    await assert.rejects(waiting[0] ?? running, { kind: 'cancelled' });
    leaving.abort(new ServiceError('timeout', 'Too slow.'));
    await assert.rejects(running, { kind: 'timeout' });
    if (!run.signal.aborted) await once(run.signal, 'abort', { signal: AbortSignal.timeout(10_000) });
    run.fail(new Error('aborted'));
    const second = await next();
    assert.equal(second.request.id, 'w2');
    second.end('w2');
    assert.equal((await waiting[1])?.text, 'w2');
    assert.equal(begun.length, 0);
  });

  it('says what went wrong: a refusal with its reason, anything else as a failure', async () => {
    const refused = ask('r');
    (await next()).fail(new ServiceError('invalid-request', 'No such language.', { param: 'languages' }));
    await assert.rejects(refused, { kind: 'invalid-request', message: 'No such language.', param: 'languages' });
    const failed = ask('r');
    (await next()).fail(new Error('a secret of the library'));
    await assert.rejects(failed, (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'engine-failed');
      assert.doesNotMatch(error.message, /secret/);
      assert.match(String(error.cause), /secret of the library/);
      return true;
    });
  });

  it('refuses calls that are not what they should be, naming the field', async () => {
    for (const [fields, message] of [
      [{ samples: new Float32Array(0) }, /samples must be 1 to 100, got 0/],
      [{ samples: new Float32Array(101) }, /samples must be 1 to 100, got 101/],
      [{ hotwords: [{ text: 'x', weight: 6 }] }, /hotwords\[0\]\.weight/],
    ] as const)
      await assert.rejects(client.recognize(request('r', fields), never), { kind: 'invalid-request', message });
    await assert.rejects(client.detectVoice(new Float32Array(511), undefined, never), {
      message: /whole frames of 512/,
    });
    await assert.rejects(createSpeechClient({ ...address, token: 'other' }).recognize(request('r'), never));
    await assert.rejects(client.embed({ id: 'r', owner: { workspace: 'w', key: 'k' }, inputs: [] }, never));
    assert.equal(begun.length, 0);
  });

  it('detects voice while a recognition runs, in blocks as if they were one', async () => {
    const running = ask('running');
    const run = await next();
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
