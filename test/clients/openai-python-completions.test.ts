import { describePythonCases } from './python-cases.ts';

describePythonCases('text completion with the openai client for Python', {
  client: 'openai',
  script: 'openai_completions_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'gets an answer',
    'gets a stream with the same text, and its usage last',
    'gets the text before its suffix',
    'gets n answers to each prompt of a list',
    'gets its prompt echoed, and log probabilities of prompt, answer and end token',
    'may send its prompt as token ids',
    'gets the names of ignored fields in a header',
    'raises BadRequestError for a suffix alone, naming the field',
    'raises NotFoundError for a chat-only model',
  ],
});
