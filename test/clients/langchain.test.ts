import { describePythonCases } from './python-cases.ts';

describePythonCases('LangChain', {
  client: 'langchain-openai',
  script: 'langchain_cases.py',
  models: ['svc-plus'],
  cases: [
    'calls a bound tool',
    'calls the tool it must, and any when it must call one',
    'adds the chunks of a call up to the call',
    'goes on after the result of a tool',
    'gets a pydantic object with the method json_schema',
    'gets a pydantic object with the method function_calling',
    'gets any JSON object with the method json_mode',
    'streams an object as it grows',
    'raises BadRequestError for more than one answer with tools',
  ],
});
