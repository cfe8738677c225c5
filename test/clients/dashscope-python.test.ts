import { describePythonCases, type PythonCases } from './python-cases.ts';

const PROTOCOL: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'gets an answer as a message',
    'gets an answer as text, which is the default',
    'can ask by a prompt, alone and after messages',
    'can ask with a history in its old form',
    'can write a message as a list of texts, and mark one for the cache',
    'streams the whole answer so far when it does not say how',
    'streams pieces when it asks for them',
    'puts the pieces together itself when it asks for no pieces',
    'streams text in all three ways',
    'hears of usage and one request id in every event',
    'sees a request id, another one for each call',
    'gets two choices',
    'gets two choices in one stream, told apart by index',
    'puts two choices together itself, and sums their usage',
    'gets an answer that ends before a stop string',
    'gets finish reason length at its token limit',
    'gets log probabilities, streamed or not',
    'may send parameters that nobody knows',
    'may name its own workspace and no other',
    'with a wrong key gets InvalidApiKey',
    'with an unknown model gets ModelNotFound',
    'with a temperature of 3 gets InvalidParameter, which names it',
    'with messages that cannot be gets InvalidParameter, or refuses them itself',
    'with text as the format of tools, choices or thoughts gets InvalidParameter',
    'sees a failure before the answer with its status',
    'sees a failure in mid-stream as its last event',
    'gets all of it asynchronously',
    'gets a list of texts on the multimodal path',
    'on the multimodal path may write a message as a text, too',
    'lists the models and gets one',
    'hears that a task is unknown, and that it cannot be cancelled',
    'is told in its own shape what is not served',
  ],
};

describePythonCases('the dashscope client for Python, 1.x', { ...PROTOCOL, overlay: 'dashscope-1' });

describePythonCases('the dashscope client for Python, what 2.x kept of 1.x', PROTOCOL);

describePythonCases('the dashscope client for Python, 1.x, with a real model', {
  client: 'dashscope',
  overlay: 'dashscope-1',
  script: 'dashscope_model_cases.py',
  models: ['svc-plus'],
  parleys: { '': { ranks: true } },
  cases: [
    'calls a tool, and goes on after its result',
    'calls the tool it must, and none where it may not',
    'hears of a call piece by piece, and puts it together itself',
    'gets the thought apart from the answer',
    'gets the same answer again for the same seed',
    'gets embeddings of one text and of several',
    'gets documents in the order in which they answer',
    'counts tokens',
  ],
});
