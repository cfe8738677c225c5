import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pcm, wavFile } from '../audio/__fixtures__/wav-file.ts';
import { loadConfig } from '../config/load-config.ts';
import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';
import { writeFakeRuntime } from '../engines/speech/__fixtures__/fake-runtime.ts';
import { speechRuntime } from '../weights/runtime/speech-runtime.ts';
import { thisPlatform } from '../weights/runtime/this-platform.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

const quiet = () => undefined;

const FILES = ['encoder.onnx', 'decoder.onnx', 'config.json', 'tokenizer.json'];

/** A catalogue's word on files that are there. */
const known = (folder: string) =>
  Object.fromEntries(
    FILES.map((name) => {
      const bytes = readFileSync(join(folder, name));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return [name, { sizeBytes: bytes.length, sha256, parts: [{ package: 'p', version: '1', member: 'm' }] }];
    }),
  );

/** A second of a tone. */
const tone = (): Blob =>
  new Blob([
    new Uint8Array(wavFile(pcm(Float32Array.from({ length: SPEECH_SAMPLE_RATE }, (_, at) => Math.sin(at / 4) / 4)))),
  ]);

/** In the order in which an operator goes on: each test leaves what the next one begins with. */
describe('speech in a service that runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const { runtimeFolder, weightsFolder } = writeFakeRuntime(join(folder, 'fakes'));
  let service: Service;
  let url = '';
  let key = '';

  before(async () => {
    for (const name of FILES.slice(0, 2)) writeFileSync(join(weightsFolder, name), name);
    const weights = { ears: { folder: { task: 'speech', files: known(weightsFolder) } } };
    writeFileSync(
      join(folder, 'parley.yaml'),
      JSON.stringify({ weights, models: { 'svc-asr': { weights: 'ears' } }, hubUrl: 'off', port: 0 }),
    );
    const { config } = loadConfig({ env: { PARLEY_DATA: folder } });
    service = await createService(config, { log: { info: quiet, warn: quiet, error: quiet } });
    url = (await service.listen())[0]?.url ?? '';
    key = (await service.firstKey())?.secret ?? '';
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  const told = async (names: readonly string[]) => {
    const { interfaces, models } = await service.report();
    const rows = [...interfaces.map(({ name, ...rest }) => ({ ...rest, model: name })), ...models];
    return names.map((name) => {
      const row = rows.find(({ model }) => model === name);
      return `${row?.state}${row?.reason ? `: ${row.reason}` : ''}`;
    });
  };
  const hear = async (): Promise<string> => {
    const form = new FormData();
    form.set('model', 'svc-asr');
    form.set('file', tone(), 'tone.wav');
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form });
    return `${answer.status} ${await answer.text()}`;
  };

  const OFF = 'off: it needs the speech engine: parley engines add speech, then parley models pull';

  test('is off before its engine is installed, and every place says how it comes', async () => {
    const rows = [
      'Speech recognition',
      'Speech recognition (compatible)',
      'Realtime recognition',
      'svc-asr',
      'svc-asr-realtime',
      'svc-embed',
      'Embeddings',
    ];
    assert.deepEqual(await told(rows), [
      `${OFF} svc-asr`,
      `${OFF} svc-asr`,
      `${OFF} svc-asr`,
      `${OFF} svc-asr`,
      `${OFF} svc-asr-realtime`,
      `${OFF} svc-embed`,
      `${OFF} svc-embed`,
    ]);
    assert.match(await hear(), /^400 .*svc-asr: it needs the speech engine: parley engines add speech\./);
    const ready = await fetch(`${url}/ready`);
    assert.ok((await ready.text()).includes(OFF.slice(5)), '/ready says the same');
  });

  test('lacks its weights, once the engine is there', async () => {
    const { name, version, main } = speechRuntime(thisPlatform());
    const home = join(folder, 'engines', `${name}-${version}`);
    mkdirSync(join(home, 'node_modules'), { recursive: true });
    cpSync(runtimeFolder, join(home, 'node_modules', main), { recursive: true });
    writeFileSync(join(home, 'runtime.json'), '{}');
    assert.deepEqual(await told(['Realtime recognition', 'svc-asr', 'svc-embed']), [
      'on',
      'missing: weights are not here: parley models pull svc-asr',
      'missing: weights are not here: parley models pull svc-embed',
    ]);
    assert.match(await hear(), /^503 .*parley models pull svc-asr/);
  });

  test('is heard, once the weights are there, without a new start', async () => {
    cpSync(weightsFolder, join(folder, 'models', 'ears.onnx'), { recursive: true });
    assert.deepEqual(await told(['svc-asr']), ['on-demand: loads with the first request']);
    assert.match(await hear(), /^200 \{"text":"It is \w+\."/);
    assert.deepEqual(await told(['svc-asr', 'svc-asr-realtime']), [
      'ready',
      'missing: weights are not here: parley models pull svc-asr-realtime',
    ]);
  });

  test('is off where the weights are no longer for it', async () => {
    writeFileSync(join(folder, 'parley.yaml'), 'models: {svc-asr: {weights: default}}\nport: 0\n');
    await service.reloadModels(join(folder, 'parley.yaml'));
    assert.deepEqual(await told(['svc-asr']), ['off: what runs it does not recognise speech']);
    assert.match(await hear(), /^400 .*what runs it does not recognise speech/);
  });
});
