import { describePythonCases } from './python-cases.ts';

describePythonCases('real weights heard by the dashscope and openai clients for Python', {
  client: 'dashscope',
  script: 'dashscope_hearing_cases.py',
  models: ['svc-plus', 'svc-asr'],
  parleys: { '': { config: 'speech: {allow: [127.0.0.1]}\n' } },
  cases: [
    'hears the names of a vocabulary while they are spoken, and misses them without it',
    'hears the names of a vocabulary in files, and misses them without it',
    'hears a language that it was not told of, by the openai client',
  ],
});
