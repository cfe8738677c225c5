import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import { expandCatalogue } from '../../src/catalogue/expand.ts';
import { readShippedCatalogue } from '../../src/catalogue/shipped.ts';
import { missingFiles } from '../../src/weights/fetch-folder.ts';
import { allFiles } from '../../src/weights/locate-folder.ts';
import { type Parley, startParley } from '../clients/harness.ts';
import { lacksSpeech, lacksWeights, speechWeights } from '../models-folder.ts';

const FOX = new URL('./__fixtures__/speech/fox.wav', import.meta.url);

test(
  'weights for speech are, to the byte, those of the catalogue, and so is what is converted',
  { skip: lacksSpeech('svc-asr') },
  async () => {
    const catalogue = createCatalogue(expandCatalogue(await readShippedCatalogue()));
    const { folder } = catalogue.weights('whisper-base');
    assert.ok(folder);
    assert.deepEqual(await missingFiles(speechWeights('svc-asr'), allFiles(folder)), []);
    assert.equal(allFiles(folder).filter(({ name }) => /^(en|de)coder\.onnx/.test(name)).length, 4);
  },
);

/** So many connections meet both workers, but for one time in 2^7. */
const MANY = 8;

describe(
  'a service with two workers',
  { skip: lacksWeights('svc-plus') || lacksSpeech('svc-asr') || lacksSpeech('svc-embed') },
  () => {
    let parley: Parley;
    before(async () => {
      parley = await startParley({ env: { PARLEY_WORKERS: '2' } });
    });
    after(() => parley?.stop());

    const hear = async (): Promise<string> => {
      const form = new FormData();
      form.set('model', 'svc-asr');
      form.set('file', new File([await readFile(FOX)], 'fox.wav'));
      const headers = { authorization: `Bearer ${parley.key}`, connection: 'close' };
      const answer = await fetch(`${parley.baseUrl}/audio/transcriptions`, { method: 'POST', headers, body: form });
      assert.equal(answer.status, 200);
      const said: unknown = await answer.json();
      return typeof said === 'object' && said !== null && 'text' in said ? String(said.text) : '';
    };

    test('hears speech in one process, whoever of them is asked', async () => {
      const texts = await Promise.all(Array.from({ length: MANY }, hear));
      assert.deepEqual(new Set(texts), new Set(['The quick brown fox jumps over the lazy dog.']));
      const lines = parley.output().split('\n');
      const isStart = (line: string): boolean => line.includes('"msg":"engine process ready"');
      assert.equal(lines.filter((line) => isStart(line) && line.includes('whisper-base')).length, 1);
      const answered = lines.filter((line) => line.includes('"operation":"audio-transcriptions.create"'));
      assert.equal(new Set(answered.map((line) => /"worker":\d+/.exec(line)?.[0])).size, 2);
    });
  },
);
