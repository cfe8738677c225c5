import { describePythonCases } from '../../../../../test/clients/python-cases.ts';
import { getWeightsName } from '../../../../../test/models-folder.ts';

describePythonCases('recognition by real weights with the dashscope and openai clients for Python', {
  client: 'dashscope',
  script: new URL('python/dashscope_speech_model_cases.py', import.meta.url),
  models: ['svc-tiny', 'svc-asr'],
  parleys: {
    '': { config: `speech: {allow: [127.0.0.1]}\nmodels: {svc-plus: {weights: ${getWeightsName('svc-tiny')}}}\n` },
  },
  cases: [
    'recognizes the names of a vocabulary in realtime, and misses them without it',
    'recognizes the names of a vocabulary in files, and misses them without it',
    'detects the language with the openai client',
  ],
});
