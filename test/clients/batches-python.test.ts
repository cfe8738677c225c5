import { describePythonCases } from './python-cases.ts';

describePythonCases('batches with the openai client for Python', {
  models: [],
  parleys: { '': { engine: 'scripted', sequences: 64 } },
  client: 'openai',
  script: 'openai_batches_cases.py',
  cases: [
    'uploads lines, creates, polls, and reads output and errors',
    'gets the reason why a batch without a valid line failed',
    'runs batches of responses and of embeddings',
    'cancels a running batch, and gets an error for a finished one',
    'goes through all pages of a list',
  ],
});
