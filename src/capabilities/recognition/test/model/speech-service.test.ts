import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { createCatalogue } from '../../../../catalogue/catalogue.ts';
import { expandCatalogue } from '../../../../catalogue/expand-catalogue.ts';
import { readShippedCatalogue } from '../../../../catalogue/shipped.ts';
import { findMissingFiles } from '../../../../weights/fetch-folder.ts';
import { type ParleyProcess, startParley } from '../../../../../test/clients/harness.ts';
import {
  getSpeechSkipReason,
  getWeightsSkipReason,
  getSpeechWeightsFolder,
} from '../../../../../test/models-folder.ts';
import { findLogLines } from '../../../../../test/log-lines.ts';
import { until } from '../../../../../test/until.ts';

const MORNING = new URL('../../../../../test/model/__fixtures__/speech/morning.wav', import.meta.url);
const FOX = new URL('../../../../../test/model/__fixtures__/speech/fox.wav', import.meta.url);

test(
  'weights for speech and their converted files match the catalogue to the byte',
  { skip: getSpeechSkipReason('svc-asr') },
  async () => {
    const catalogue = createCatalogue(expandCatalogue(await readShippedCatalogue()));
    const { folder } = catalogue.weights('whisper-base');
    assert.ok(folder);
    const files = [...folder.files, ...(folder.conversion?.files ?? [])];
    assert.deepEqual(await findMissingFiles(getSpeechWeightsFolder('svc-asr'), files), []);
    assert.equal(files.filter(({ name }) => /^(en|de)coder\.onnx/.test(name)).length, 4);
  },
);

/**
 * Number of concurrent requests. The kernel chooses the worker of each, so they are repeated until both workers have
 * answered.
 */
const CONCURRENT_REQUESTS = 4;

describe(
  'a service with two workers',
  { skip: getWeightsSkipReason('svc-tiny') || getSpeechSkipReason('svc-asr') || getSpeechSkipReason('svc-embed') },
  () => {
    let parley: ParleyProcess;
    before(async () => {
      parley = await startParley({ withTinyModel: true, env: { PARLEY_WORKERS: '2' } });
    });
    after(() => parley?.stop());

    const transcribe = async (path = 'transcriptions', file = FOX): Promise<string> => {
      const form = new FormData();
      form.set('model', 'svc-asr');
      form.set('file', new File([await readFile(file)], 'speech.wav'));
      const headers = { authorization: `Bearer ${parley.key}`, connection: 'close' };
      const answer = await fetch(`${parley.baseUrl}/audio/${path}`, { method: 'POST', headers, body: form });
      assert.equal(answer.status, 200);
      const body: unknown = await answer.json();
      return typeof body === 'object' && body !== null && 'text' in body ? String(body.text) : '';
    };

    test('translates German speech to English', async () => {
      assert.match(await transcribe('translations', MORNING), /^Good morning/);
    });

    test('recognizes speech in one engine process for both workers', async () => {
      await until('both workers have answered and logged it', { timeoutMs: 120_000 }, async () => {
        const texts = await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, () => transcribe()));
        assert.deepEqual(new Set(texts), new Set(['The quick brown fox jumps over the lazy dog.']));
        const answered = findLogLines(parley.output(), 'request').filter(
          ({ operation }) => operation === 'audio-transcriptions.create',
        );
        return new Set(answered.map(({ worker }) => worker)).size === 2 ? true : undefined;
      });
      const started = findLogLines(parley.output(), 'engine process ready').map(({ engine }) => String(engine));
      assert.equal(started.filter((engine) => engine.includes('whisper-base')).length, 1);
    });
  },
);
