import { describePythonCases } from './python-cases.ts';

describePythonCases('LangChain in its responses mode', {
  client: 'langchain-openai',
  script: 'langchain_responses_cases.py',
  models: ['svc-plus'],
  parleys: { '': { engine: 'scripted' }, REAL_: {} },
  cases: [
    'gets an answer, with its id and its usage',
    'adds the chunks of an answer up to the answer',
    'gets the thought before the answer, streamed too',
    'calls a bound tool, and goes on after its result with its own messages',
    'adds the chunks of a call up to the call',
    'goes on from the last response',
    'finds the last response in its messages by itself',
    'goes on in a conversation',
    'streams asynchronously',
    'gets a pydantic object with the method json_schema',
    'gets a pydantic object with the method function_calling',
    'gets any JSON object with the method json_mode',
    'says that its limit cut the answer',
    'raises BadRequestError for a conversation and a response to go on from',
    'calls the tool it must with a real model, and answers with its result',
  ],
  published: [
    'ResponseResource',
    'ResponseCompletedStreamingEvent',
    'ResponseFunctionCallArgumentsDeltaStreamingEvent',
    'ResponseReasoningSummaryDeltaStreamingEvent',
    'Conversation',
    'ConversationItemList',
    'ErrorBody',
  ],
});
