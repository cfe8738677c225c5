import { describePythonCases } from './python-cases.ts';

describePythonCases('text completion with the openai client for Python', {
  client: 'openai',
  script: 'openai_completions_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'gets an answer',
    'gets a stream that says the same, and its usage last',
    'gets what stands before its suffix',
    'gets n answers to each prompt of a list',
    'gets its prompt back, and log probabilities at their places behind it',
    'may ask by token ids',
    'is told what was accepted and not honoured',
    'raises BadRequestError for a suffix alone, naming the field',
    'raises NotFoundError for a model that only converses',
  ],
});
