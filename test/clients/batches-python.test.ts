import { describePythonCases } from './python-cases.ts';

describePythonCases('batches of the openai client for Python', {
  models: [],
  parleys: { '': { engine: 'scripted', sequences: 64 } },
  client: 'openai',
  script: 'openai_batches_cases.py',
  cases: [
    'uploads lines, creates, polls, and reads output and errors',
    'sees why a batch without a good line failed',
    'asks for responses and for embeddings',
    'cancels one that runs, and hears that one that has ended cannot be',
    'goes through all pages of a list',
  ],
});
