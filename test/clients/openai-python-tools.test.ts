import { describePythonCases } from './python-cases.ts';

describePythonCases('tools and formats with the openai client for Python', {
  client: 'openai',
  script: 'openai_tools_cases.py',
  models: ['svc-tiny'],
  parleys: { '': { withTinyModel: true } },
  cases: [
    'parses an answer into a pydantic model',
    'parses an answer into a pydantic model at the end of a stream',
    'raises LengthFinishReasonError when the token limit cuts an answer',
    'parses the arguments of a pydantic function',
    'gets the arguments of a call in pieces in a stream',
    'can wait until a stream is done',
    'sends received messages back unchanged',
    'calls no function when tool_choice is none',
    'with an unsupported schema raises BadRequestError, which names it',
  ],
});
