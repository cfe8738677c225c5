import { describePythonCases } from './python-cases.ts';

describePythonCases('tools and formats with the openai client for Python', {
  client: 'openai',
  script: 'openai_tools_cases.py',
  models: ['svc-plus'],
  cases: [
    'parses an answer by a pydantic model',
    'parses an answer by a pydantic model at the end of a stream',
    'raises LengthFinishReasonError when the limit cuts an answer',
    'parses the arguments of a pydantic function',
    'hears of the arguments piece by piece in its stream',
    'can wait until a stream is done',
    'sends its messages back as they came',
    'calls no function when tool_choice is none',
    'with a schema that cannot be kept raises BadRequestError, which names it',
  ],
});
