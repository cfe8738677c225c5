import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { encodePcm16, createTestWavFile } from '../../audio/__fixtures__/test-wav-file.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import { SPEECH_SAMPLE_RATE } from '../../../../core/speech.ts';
import { writeFakeRuntime } from '../../../../engines/speech/__fixtures__/fake-runtime.ts';
import { getSpeechRuntime } from '../../../../weights/runtime/speech-runtime.ts';
import { getCurrentPlatform } from '../../../../weights/runtime/current-platform.ts';
import { recognition } from '../../recognition-capability.ts';
import { createService } from '../../../../service/service.ts';
import type { Service } from '../../../../service/service.ts';

const quiet = () => undefined;

const FILES = ['encoder.onnx', 'decoder.onnx', 'config.json', 'tokenizer.json'];

/** Describes the files of a folder as catalogue entries do. */
const describeFiles = (folder: string) =>
  Object.fromEntries(
    FILES.map((name) => {
      const bytes = readFileSync(join(folder, name));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return [name, { sizeBytes: bytes.length, sha256, parts: [{ package: 'p', version: '1', member: 'm' }] }];
    }),
  );

/** One second of a tone. */
const createTone = (): Blob =>
  new Blob([
    new Uint8Array(
      createTestWavFile(
        encodePcm16(Float32Array.from({ length: SPEECH_SAMPLE_RATE }, (_, index) => Math.sin(index / 4) / 4)),
      ),
    ),
  ]);

/** The tests follow the steps of an operator: each one leaves the state that the next one starts from. */
describe('installing speech recognition in a running service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const { runtimeFolder, weightsFolder } = writeFakeRuntime(join(folder, 'fakes'));
  let service: Service;
  let url = '';
  let key = '';

  before(async () => {
    for (const name of FILES.slice(0, 2)) writeFileSync(join(weightsFolder, name), name);
    const weights = { ears: { folder: { task: 'speech', files: describeFiles(weightsFolder) } } };
    writeFileSync(
      join(folder, 'parley.yaml'),
      JSON.stringify({ weights, models: { 'svc-asr': { weights: 'ears' } }, hubUrl: 'off', port: 0 }),
    );
    const { config } = loadConfig({ env: { PARLEY_DATA: folder } });
    service = await createService(config, {
      capabilities: [recognition],
      log: { info: quiet, warn: quiet, error: quiet },
    });
    url = (await service.listen())[0]?.url ?? '';
    key = (await service.getFirstKey())?.secret ?? '';
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  const getStates = async (names: readonly string[]) => {
    const { interfaces, models } = await service.buildReport();
    const rows = [...interfaces.map(({ name, ...rest }) => ({ ...rest, model: name })), ...models];
    return names.map((name) => {
      const row = rows.find(({ model }) => model === name);
      return `${row?.state}${row?.reason ? `: ${row.reason}` : ''}`;
    });
  };
  const transcribe = async (): Promise<string> => {
    const form = new FormData();
    form.set('model', 'svc-asr');
    form.set('file', createTone(), 'tone.wav');
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form });
    return `${answer.status} ${await answer.text()}`;
  };

  const OFF_STATE =
    'off: the speech engine is not installed; run: parley engines add speech, then run: parley models pull';

  test('reports speech as off without the engine, with the command that installs it', async () => {
    const rows = [
      'Speech recognition',
      'Speech recognition (compatible)',
      'Realtime recognition',
      'svc-asr',
      'svc-asr-realtime',
      'svc-embed',
      'Embeddings',
    ];
    assert.deepEqual(await getStates(rows), [
      `${OFF_STATE} svc-asr`,
      `${OFF_STATE} svc-asr`,
      `${OFF_STATE} svc-asr`,
      `${OFF_STATE} svc-asr`,
      `${OFF_STATE} svc-asr-realtime`,
      `${OFF_STATE} svc-embed`,
      `${OFF_STATE} svc-embed`,
    ]);
    assert.equal((await getStates(['Custom vocabulary']))[0], 'on', 'the vocabulary interface answers');
    assert.match(
      await transcribe(),
      /^400 .*svc-asr: the speech engine is not installed; run: parley engines add speech\./,
    );
    const ready = await fetch(`${url}/ready`);
    assert.ok((await ready.text()).includes(OFF_STATE.slice(5)), '/ready gives the same reason');
  });

  test('reports missing weights after the engine was installed', async () => {
    const { name, version, main } = getSpeechRuntime(getCurrentPlatform());
    const home = join(folder, 'engines', `${name}-${version}`);
    mkdirSync(join(home, 'node_modules'), { recursive: true });
    cpSync(runtimeFolder, join(home, 'node_modules', main), { recursive: true });
    writeFileSync(join(home, 'runtime.json'), '{}');
    assert.deepEqual(await getStates(['Realtime recognition', 'svc-asr', 'svc-embed']), [
      'on',
      'missing: the weights are missing; run: parley models pull svc-asr',
      'missing: the weights are missing; run: parley models pull svc-embed',
    ]);
    assert.match(await transcribe(), /^503 .*parley models pull svc-asr/);
  });

  test('transcribes after the weights were installed, without a restart', async () => {
    cpSync(weightsFolder, join(folder, 'models', 'ears.onnx'), { recursive: true });
    assert.deepEqual(await getStates(['svc-asr']), ['on-demand: loads on the first request']);
    assert.match(await transcribe(), /^200 \{"text":"It is \w+\."/);
    assert.deepEqual(await getStates(['svc-asr', 'svc-asr-realtime']), [
      'ready',
      'missing: the weights are missing; run: parley models pull svc-asr-realtime',
    ]);
  });

  test('reports speech as off when the configured weights do not support it', async () => {
    writeFileSync(join(folder, 'parley.yaml'), 'models: {svc-asr: {weights: default}}\nport: 0\n');
    await service.reloadModels(join(folder, 'parley.yaml'));
    assert.deepEqual(await getStates(['svc-asr']), ['off: its engine does not recognize speech']);
    assert.match(await transcribe(), /^400 .*its engine does not recognize speech/);
  });
});
