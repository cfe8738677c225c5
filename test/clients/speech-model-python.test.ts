import { describePythonCases } from './python-cases.ts';

describePythonCases('recognition by real weights with the dashscope and openai clients for Python', {
  client: 'dashscope',
  script: 'dashscope_speech_model_cases.py',
  models: ['svc-plus', 'svc-asr'],
  parleys: { '': { config: 'speech: {allow: [127.0.0.1]}\n' } },
  cases: [
    'recognizes the names of a vocabulary in realtime, and misses them without it',
    'recognizes the names of a vocabulary in files, and misses them without it',
    'detects the language with the openai client',
  ],
});
