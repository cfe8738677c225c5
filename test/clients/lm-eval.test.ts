import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { getLlamaServerSkipReason, startLlamaServer } from '../llama-server.ts';
import { findWeightsFile, TINY } from '../model/weights.ts';
import { startParley, type Parley } from './harness.ts';
import { describePythonCases } from './python-cases.ts';

let serverUrl = '';

/** Starts llama.cpp's own server on the weights of `svc-tiny`. */
async function startReference(): Promise<Parley> {
  const modelFile = findWeightsFile(TINY);
  assert.ok(modelFile !== undefined, 'the weights are missing');
  // Flash attention computes in half precision, which changes a score by up to 0.4; Parley does not use it on processors.
  const extraArguments = ['--flash-attn', 'off'];
  const server = await startLlamaServer({ modelFile, slots: 1, contextTokens: 512, extraArguments });
  serverUrl = server.url;
  return { address: server.url, baseUrl: server.url, key: '', data: '', pid: 0, stop: server.close };
}

/** Starts a Parley that runs the same weights as `scored`, and calls the reference as `served`. */
const startScoringParley = (): Promise<Parley> =>
  startParley({
    config: [
      'models:',
      `  scored: { weights: ${TINY}, interfaces: [completions] }`,
      `  served: { url: '${serverUrl}', server: llama-server, input: prompt, interfaces: [completions] }`,
      '',
    ].join('\n'),
  });

describe('an evaluation next to the server of llama.cpp', { skip: getLlamaServerSkipReason() }, () => {
  describePythonCases('multiple choice with lm-eval', {
    client: 'lm_eval',
    overlay: 'lm-eval',
    script: 'lm_eval_cases.py',
    models: ['svc-tiny'],
    parleys: { REFERENCE_: startReference, '': startScoringParley },
    cases: [
      "scores of llama.cpp's server differ between the answers",
      'gets the same scores with one prompt per request',
      'gets the same scores with several prompts per request',
      'gets the same scores with several requests at once',
      'raises an error for a server that reports no log probabilities of the prompt',
    ],
  });
});
