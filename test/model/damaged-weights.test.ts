import assert from 'node:assert/strict';
import { copyFile, mkdtemp, open, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startParley, type ParleyProcess } from '../clients/harness.ts';
import { getModelsFolder, getWeightsName, getWeightsSkipReason } from '../models-folder.ts';
import { until } from '../until.ts';

const NAME = `${getWeightsName('svc-tiny')}.gguf`;
const TIME = new Date('2026-01-01');

describe('weights that are damaged while a service runs', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let folder: string;
  let model: string;
  let parley: ParleyProcess;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-damaged-'));
    model = join(folder, NAME);
    await copyFile(join(getModelsFolder(), NAME), model);
    await utimes(model, TIME, TIME);
    parley = await startParley({ withTinyModel: true, env: { PARLEY_MODELS_FOLDER: folder } });
  });
  after(async () => {
    await parley.stop();
    await rm(folder, { recursive: true });
  });

  /** Overwrites bytes of the file, without a change of its size and time. Returns a function that restores them. */
  async function damage(position: number, lengthBytes: number): Promise<() => Promise<void>> {
    const original = Buffer.alloc(lengthBytes);
    const write = async (bytes: Buffer): Promise<void> => {
      const handle = await open(model, 'r+');
      await handle.read(original, 0, lengthBytes, position);
      await handle.write(bytes, 0, lengthBytes, position);
      await handle.close();
      await utimes(model, TIME, TIME);
    };
    await write(Buffer.alloc(lengthBytes, '!'));
    const restored = Buffer.from(await readOriginal(position, lengthBytes));
    return () => write(restored);
  }

  async function readOriginal(position: number, lengthBytes: number): Promise<Buffer> {
    const handle = await open(join(getModelsFolder(), NAME));
    const { buffer } = await handle.read(Buffer.alloc(lengthBytes), 0, lengthBytes, position);
    await handle.close();
    return buffer;
  }

  const chat = async () => {
    const response = await fetch(`${parley.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-plus', max_tokens: 2, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    return { status: response.status, text: await response.text(), retryAfter: response.headers.get('retry-after') };
  };

  const assertRefused = async (): Promise<void> => {
    const { status, text, retryAfter } = await chat();
    assert.equal(status, 503, text);
    assert.match(text, /"error":\{.*damaged: .* matches no known hash .*parley models pull svc-plus/);
    assert.equal(retryAfter, '60');
    const ready = await fetch(`${parley.address}/ready`);
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), /"reason":"the weights .* are damaged: .*run: parley models pull svc-plus"/);
  };

  const killEngine = (): void => {
    const pid = Number([...parley.output().matchAll(/"pid":(\d+),"ms":\d+,"msg":"engine process ready"/g)].at(-1)?.[1]);
    assert.ok(pid > 1);
    process.kill(pid, 'SIGKILL');
  };

  test('are refused at the next start of the engine, because the samples differ', async () => {
    assert.equal((await chat()).status, 200);
    const restore = await damage(50_000_000, 10_000_000);
    killEngine();
    await until('the refusal', { timeoutMs: 60_000 }, async () => (await chat()).status === 503 || undefined);
    await assertRefused();
    assert.match(parley.output(), /"msg":"weights file changed without a change of its size and time"/);
    await restore();
    assert.equal((await chat()).status, 200, 'a repaired file is used at once');
  });

  test('are found by the check in the background, which stops the model', async () => {
    // One byte between two samples: the engine starts with it.
    killEngine();
    const restore = await damage(65_000_123, 1);
    await until('a start of the engine', { timeoutMs: 60_000 }, async () => (await chat()).status === 200 || undefined);
    await until('the check', { timeoutMs: 120_000 }, async () =>
      parley.output().includes('"msg":"weights damaged: the model is stopped"') ? true : undefined,
    );
    await until('the refusal', { timeoutMs: 60_000 }, async () => (await chat()).status === 503 || undefined);
    await assertRefused();
    const metrics = await (await fetch(`${parley.address}/metrics`)).text();
    assert.match(metrics, /^parley_weights_checks_total\{outcome="damaged"\} 1$/m);
    await restore();
    assert.equal((await chat()).status, 200);
  });
});
