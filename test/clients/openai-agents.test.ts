import { describePythonCases } from './python-cases.ts';

describePythonCases('the agents SDK of OpenAI for Python', {
  client: 'openai-agents',
  script: 'openai_agents_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted', env: { PARLEY_ENGINE_CONTEXT_TOKENS: '8192' } } },
  cases: [
    'runs an agent with a tool over three turns, with a session in conversations',
    'runs an agent with a tool over three turns, with a session in conversations, streamed',
    'runs an agent with a tool over three turns, with a session in SQLite',
    'runs an agent with a tool over three turns, with a session in SQLite, streamed',
    'keeps the thoughts of an agent in its session, and sends them back',
    'runs an agent in a conversation that the service appends to',
    'runs an agent that goes on from its last response',
    'takes the newest items of a session, takes one back, and clears it',
    'adds more items to a session than one call takes',
    'gives an agent its output type',
  ],
  published: [
    'ResponseResource',
    'ResponseCompletedStreamingEvent',
    'ResponseFunctionCallArgumentsDeltaStreamingEvent',
    'ResponseReasoningSummaryDeltaStreamingEvent',
    'Conversation',
    'ConversationItemList',
    'ConversationDeletedResource',
    'Item',
  ],
});
