import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { RecognitionRequest, SpeechEngine } from '../speech-engine.ts';
import type { Supervisor } from '../supervisor.ts';
import { writeFakeRuntime } from './__fixtures__/fake-runtime.ts';
import type { SpeechEndpoint } from './protocol.ts';
import { createSpeechEngine } from './speech-engine.ts';
import { createSpeechProcess } from './speech-process.ts';

/** A tone of this loudness, half a second. */
const createTone = (loudness: number): Float32Array =>
  Float32Array.from({ length: 8_000 }, (_, i) => loudness * Math.sin((2 * Math.PI * 440 * i) / 16_000));
const CRASHING_AUDIO = createTone(1);

const createRequest = (samples: Float32Array): RecognitionRequest => ({
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  samples,
  languages: [],
  hotwords: [],
  includeWords: true,
});

describe('a speech engine with its process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const runFolder = join(folder, 'run');
  const never = new AbortController().signal;
  let child: Supervisor<SpeechEndpoint>;
  let engine: SpeechEngine;

  before(async () => {
    const options = {
      ...writeFakeRuntime(folder),
      threads: 1,
      beamWidth: 2,
      queueLengthMax: 8,
      queueWaitMsMax: 30_000,
    };
    const times = { backoffMsMin: 10, backoffMsMax: 10 };
    child = await createSpeechProcess(
      { ...options, name: 'fake', runFolder, times },
      { info: () => undefined, warn: () => undefined },
    );
    engine = createSpeechEngine({ process: child });
  });
  after(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  it('starts on first use, and returns its languages', async () => {
    assert.equal(engine.state, 'starting');
    assert.deepEqual(await engine.loadModel(), {
      languages: ['en', 'de', 'zh'],
      samplesMax: 480_000,
      translates: true,
    });
    assert.equal(engine.state, 'ready');
  });

  it('recognizes the text, its language and its words', async () => {
    const recognition = await engine.recognize(createRequest(createTone(0.5)), never);
    assert.equal(recognition.text, 'It is loud.');
    assert.equal(recognition.language, 'de');
    assert.equal(recognition.words.map((word) => word.text + word.punctuation).join(''), recognition.text);
    assert.equal((await engine.recognize(createRequest(createTone(0.01)), never)).text, 'It is quiet.');
  });

  it('rejects a call that kills the process, and serves the next one', async () => {
    const pid = child.pid;
    await assert.rejects(engine.recognize(createRequest(CRASHING_AUDIO), never), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'engine-failed');
      assert.match(error.message, /engine stopped/);
      return true;
    });
    assert.equal((await engine.recognize(createRequest(createTone(0.5)), never)).text, 'It is loud.');
    assert.notEqual(child.pid, pid);
  });

  it('sends calls again that a killed process did not answer', async () => {
    await engine.loadModel();
    const { pid } = child;
    const recognitions = Array.from({ length: 4 }, () => engine.recognize(createRequest(createTone(0.5)), never));
    await new Promise((resolve) => setImmediate(resolve));
    process.kill(pid ?? -1, 'SIGKILL');
    for (const each of recognitions) assert.equal((await each).text, 'It is loud.');
  });

  it('removes its socket on close, and rejects further calls', async () => {
    const { pid } = child;
    await engine.close();
    assert.deepEqual(readdirSync(runFolder), []);
    assert.throws(() => process.kill(pid ?? -1, 0));
    await assert.rejects(engine.recognize(createRequest(createTone(0.5)), never), { kind: 'overloaded' });
  });
});
