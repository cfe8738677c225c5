import { describePythonCases } from './python-cases.ts';

describePythonCases('the agents SDK of OpenAI for Python', {
  client: 'openai-agents',
  script: 'openai_agents_cases.py',
  models: [],
  parleys: {
    '': {
      engine: 'scripted',
      // The SDK's compaction accepts names of OpenAI models only.
      config: 'aliases: {gpt-summary: svc-plus}\n',
      env: { PARLEY_ENGINE_CONTEXT_TOKENS: '8192' },
    },
  },
  cases: [
    'runs an agent with a tool over three turns, with a session in conversations',
    'runs an agent with a tool over three turns, with a session in conversations, streamed',
    'runs an agent with a tool over three turns, with a session in SQLite',
    'runs an agent with a tool over three turns, with a session in SQLite, streamed',
    'stores the thoughts of an agent in its session, and sends them back',
    'runs an agent in a conversation that the service appends to',
    'runs an agent that continues from its last response',
    'gets the newest items of a session, pops one, and clears it',
    'adds more items to a session than one request may carry',
    'parses an answer into the output type of an agent',
    'compacts the history of a session, and continues from the summary',
  ],
  expectedShapes: [
    'ResponseResource',
    'ResponseCompletedStreamingEvent',
    'ResponseFunctionCallArgumentsDeltaStreamingEvent',
    'ResponseReasoningSummaryDeltaStreamingEvent',
    'Conversation',
    'ConversationItemList',
    'ConversationDeletedResource',
    'CompactResource',
    'Item',
  ],
});
