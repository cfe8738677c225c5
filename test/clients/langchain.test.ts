import { describePythonCases } from './python-cases.ts';

describePythonCases('LangChain', {
  client: 'langchain-openai',
  script: 'langchain_cases.py',
  models: ['svc-tiny', 'svc-plus'],
  cases: [
    'calls a bound tool',
    'calls a forced tool, and any tool when one is required',
    'adds the chunks of a tool call up to the whole call',
    'answers after the result of a tool',
    'gets a pydantic object with the method json_schema',
    'gets a pydantic object with the method function_calling',
    'gets any JSON object with the method json_mode',
    'streams growing partial objects',
    'raises BadRequestError for more than one answer with tools',
  ],
});
