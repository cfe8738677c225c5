import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import { expandCatalogue } from '../../src/catalogue/expand.ts';
import { readShippedCatalogue } from '../../src/catalogue/shipped.ts';
import { missingFiles } from '../../src/weights/fetch-folder.ts';
import { allFiles } from '../../src/weights/locate-folder.ts';
import { type ParleyProcess, startParley } from '../clients/harness.ts';
import { lacksSpeech, lacksWeights, speechWeights } from '../models-folder.ts';
import { logLines } from '../log-lines.ts';
import { until } from '../until.ts';

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

/** Asked side by side; which worker gets which is chance, so it is asked again until both have answered. */
const AT_ONCE = 4;

describe(
  'a service with two workers',
  { skip: lacksWeights('svc-plus') || lacksSpeech('svc-asr') || lacksSpeech('svc-embed') },
  () => {
    let parley: ParleyProcess;
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
      await until('both have answered, and said so', { withinMs: 120_000 }, async () => {
        const texts = await Promise.all(Array.from({ length: AT_ONCE }, hear));
        assert.deepEqual(new Set(texts), new Set(['The quick brown fox jumps over the lazy dog.']));
        const answered = logLines(parley.output(), 'request').filter(
          ({ operation }) => operation === 'audio-transcriptions.create',
        );
        return new Set(answered.map(({ worker }) => worker)).size === 2 ? true : undefined;
      });
      const started = logLines(parley.output(), 'engine process ready').map(({ engine }) => String(engine));
      assert.equal(started.filter((engine) => engine.includes('whisper-base')).length, 1);
    });
  },
);
