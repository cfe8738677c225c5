import { describePythonCases } from './python-cases.ts';

describePythonCases('LangChain in its responses mode', {
  client: 'langchain-openai',
  script: 'langchain_responses_cases.py',
  models: ['svc-plus'],
  parleys: { '': { engine: 'scripted' }, REAL_: { withTinyModel: true } },
  cases: [
    'gets an answer, with its id and its usage',
    'adds the chunks of an answer up to the whole answer',
    'gets the thought before the answer, streamed too',
    'calls a bound tool, and answers after its result with the messages of LangChain',
    'adds the chunks of a tool call up to the whole call',
    'continues from the last response',
    'finds the id of the last response in its messages',
    'continues a conversation',
    'streams asynchronously',
    'gets a pydantic object with the method json_schema',
    'gets a pydantic object with the method function_calling',
    'gets any JSON object with the method json_mode',
    'reports an answer that the token limit cut',
    'raises BadRequestError for a conversation together with a previous response',
    'calls a forced tool with a real model, and answers with its result',
  ],
  expectedShapes: [
    'ResponseResource',
    'ResponseCompletedStreamingEvent',
    'ResponseFunctionCallArgumentsDeltaStreamingEvent',
    'ResponseReasoningSummaryDeltaStreamingEvent',
    'Conversation',
    'ConversationItemList',
    'ErrorBody',
  ],
});
