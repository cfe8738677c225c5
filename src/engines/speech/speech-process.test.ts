import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { RecognitionRequest, SpeechEngine } from '../speech-engine.ts';
import type { Supervisor } from '../supervisor.ts';
import { writeFakeRuntime } from './__fixtures__/fake-runtime.ts';
import type { SpeechUp } from './protocol.ts';
import { createSpeechEngine } from './speech-engine.ts';
import { createSpeechProcess } from './speech-process.ts';

/** A tone of this loudness, half a second. */
const tone = (loudness: number): Float32Array =>
  Float32Array.from({ length: 8_000 }, (_, i) => loudness * Math.sin((2 * Math.PI * 440 * i) / 16_000));
const DEADLY = tone(1);

const request = (samples: Float32Array): RecognitionRequest => ({
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  samples,
  languages: [],
  hotwords: [],
  wantsWords: true,
});

describe('a speech engine and its process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const runFolder = join(folder, 'run');
  const never = new AbortController().signal;
  let child: Supervisor<SpeechUp>;
  let engine: SpeechEngine;

  before(async () => {
    const options = { ...writeFakeRuntime(folder), threads: 1, queuePlacesMax: 8, queueWaitMsMax: 30_000 };
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

  it('starts when it is asked for, and knows its languages', async () => {
    assert.equal(engine.state, 'starting');
    assert.deepEqual(await engine.model(), { languages: ['en', 'de', 'zh'], samplesMax: 480_000 });
    assert.equal(engine.state, 'ready');
  });

  it('hears a text, its language and when its words were said', async () => {
    const heard = await engine.recognize(request(tone(0.5)), never);
    assert.equal(heard.text, 'It is loud.');
    assert.equal(heard.language, 'de');
    assert.equal(heard.words.map((word) => word.text + word.punctuation).join(''), heard.text);
    assert.equal((await engine.recognize(request(tone(0.01)), never)).text, 'It is quiet.');
  });

  it('dies of a speech with a clear error, and hears the next one', async () => {
    const pid = child.pid;
    await assert.rejects(engine.recognize(request(DEADLY), never), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'engine-failed');
      assert.match(error.message, /engine stopped/);
      return true;
    });
    assert.equal((await engine.recognize(request(tone(0.5)), never)).text, 'It is loud.');
    assert.notEqual(child.pid, pid);
  });

  it('asks the next process again for what a dying one took with it', async () => {
    await engine.model();
    const { pid } = child;
    const asked = Array.from({ length: 4 }, () => engine.recognize(request(tone(0.5)), never));
    await new Promise((resolve) => setImmediate(resolve));
    process.kill(pid ?? -1, 'SIGKILL');
    for (const each of asked) assert.equal((await each).text, 'It is loud.');
  });

  it('ends with its folder, and refuses from then on', async () => {
    const { pid } = child;
    await engine.close();
    assert.deepEqual(readdirSync(runFolder), []);
    assert.throws(() => process.kill(pid ?? -1, 0));
    await assert.rejects(engine.recognize(request(tone(0.5)), never), { kind: 'overloaded' });
  });
});
