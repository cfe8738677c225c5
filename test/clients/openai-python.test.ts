import { describePythonCases } from './python-cases.ts';

describePythonCases('the openai client for Python', {
  client: 'openai',
  script: 'openai_cases.py',
  models: ['svc-plus', 'svc-tiny'],
  parleys: { '': { withTinyModel: true }, ONE_: { withTinyModel: true, sequences: 1 } },
  cases: [
    'gets an answer',
    'gets a stream with the same text, and its usage last',
    'can use the stream collector of the client',
    'gets an answer that ends before a stop string',
    'gets two choices',
    'gets two choices in one stream, distinguished by index',
    'gets log probabilities for every token',
    'gets finish reason length at its token limit',
    'with a wrong key raises AuthenticationError',
    'with an unknown model raises NotFoundError',
    'with a temperature of 3 raises BadRequestError, which names the field',
    'lists the models and retrieves one',
    'gets vectors, as numbers and in base64',
    'gets a different request id for each call',
    'may leave out the prefix of the compatible interface',
    'frees the only sequence when it aborts a stream',
  ],
});
