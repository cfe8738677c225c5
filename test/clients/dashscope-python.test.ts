import { startParley } from './harness.ts';
import { shareParley } from './program-cases.ts';
import { describePythonCases, type PythonCases } from './python-cases.ts';

const PROTOCOL: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_cases.py',
  models: [],
  parleys: { '': shareParley(() => startParley({ engine: 'scripted' })) },
  cases: [
    'gets an answer as a message',
    'gets an answer as text, which is the default',
    'may send a prompt, alone and after messages',
    'may send a history in its old form',
    'may send a message as a list of texts, and mark one for the cache',
    'streams the whole answer so far by default',
    'streams pieces with incremental_output true',
    'joins the pieces in the client with incremental_output false',
    'streams text in all three ways',
    'gets usage and the same request id in every event',
    'gets a different request id for each call',
    'gets two choices',
    'gets two choices in one stream, distinguished by index',
    'joins two choices in the client, and sums their usage',
    'gets an answer that ends before a stop string',
    'gets finish reason length at its token limit',
    'gets log probabilities, streamed or not',
    'calls a tool that it may call, and answers after its result',
    'may send unknown parameters',
    'may name its own workspace and no other',
    'with a wrong key gets InvalidApiKey',
    'with an unknown model gets ModelNotFound',
    'with a temperature of 3 gets InvalidParameter, which names it',
    'with invalid messages gets InvalidParameter, or raises before sending',
    'with result_format text for tools, choices or thoughts gets InvalidParameter',
    'gets a failure before the first event with its status',
    'gets a failure in mid-stream as the last event',
    'works asynchronously',
    'gets a list of texts on the multimodal path',
    'may send a message as a string on the multimodal path',
    'lists the models and gets one',
    'gets status UNKNOWN for an unknown task, and cannot cancel it',
    'gets an error or an empty list for what is not served',
  ],
};

describePythonCases('the dashscope client for Python, 1.x', { ...PROTOCOL, overlay: 'dashscope-1' });

describePythonCases('the dashscope client for Python, 2.x with the 1.x API', PROTOCOL);

describePythonCases('the dashscope client for Python, 1.x, with a real model', {
  client: 'dashscope',
  overlay: 'dashscope-1',
  script: 'dashscope_model_cases.py',
  models: ['svc-plus'],
  parleys: { '': { withRankingModel: true, withTinyModel: true } },
  cases: [
    'calls a forced tool, and answers after its result',
    'calls no tool with tool_choice none',
    'gets a tool call in pieces, or joined by the client',
    'gets the thought separate from the answer',
    'gets the same answer for the same seed',
    'gets embeddings of one text and of several',
    'gets documents ordered by relevance',
    'counts tokens',
  ],
});
