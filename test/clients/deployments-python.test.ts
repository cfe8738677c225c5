import { startParley } from './harness.ts';
import { shareParley } from './program-cases.ts';
import { describePythonCases, type PythonCases } from './python-cases.ts';

const start = () =>
  startParley({
    engine: 'scripted',
    config:
      'models: {all: {path: /nowhere/all.gguf, interfaces: [chat, messages, responses, completions, native, embeddings]}}',
  });

/** Two Parleys, because both versions of a client make deployments of the same names. */
const OLD = { parleys: { '': shareParley(start) } } as const;
const NEW = { parleys: { '': shareParley(start) } } as const;

const VERSION_1: PythonCases = {
  models: [],
  client: 'dashscope',
  script: 'dashscope_deployments_cases.py',
  cases: [
    'creates, lists, gets, scales, limits and deletes a deployment',
    'streams the events of a deployment',
    'gets errors with the prescribed texts',
  ],
};

describePythonCases('deployments with the dashscope client for Python, 1.x', {
  ...VERSION_1,
  ...OLD,
  overlay: 'dashscope-1',
});

describePythonCases('deployments with the dashscope client for Python, 2.x with the 1.x API', { ...VERSION_1, ...NEW });

describePythonCases('deployments with the dashscope client for Python, 2.x', {
  ...NEW,
  models: [],
  client: 'dashscope',
  script: 'dashscope_client_deployments_cases.py',
  cases: [
    'creates, lists, gets, scales and deletes a deployment',
    'does the same asynchronously',
    'streams the events of a deployment',
    'raises the error class of each failure',
  ],
});

const DEPLOYED_MODELS: PythonCases = {
  models: [],
  client: 'dashscope',
  script: 'deployed_models_cases.py',
  cases: [
    'the openai client gets answers, streams and vectors of a deployment',
    'the dashscope client gets answers, streams and vectors of a deployment',
    'each gets its own error for a stopped deployment, and answers after its restart',
    'each gets its own error for a reached limit, with the time to retry',
  ],
};

describePythonCases('deployed models with the clients for Python, dashscope 1.x', {
  ...DEPLOYED_MODELS,
  ...OLD,
  overlay: 'dashscope-1',
});

describePythonCases('deployed models with the clients for Python, dashscope 2.x', {
  ...DEPLOYED_MODELS,
  ...NEW,
});

describePythonCases('deployed models with the anthropic client for Python', {
  ...OLD,
  models: [],
  client: 'anthropic',
  script: 'anthropic_deployed_cases.py',
  cases: ['gets answers, streams and token counts of a deployment', 'gets an error that names the reached limit'],
});
