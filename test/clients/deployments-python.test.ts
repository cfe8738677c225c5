import { describePythonCases, type PythonCases } from './python-cases.ts';

const SCRIPTED = { models: [], parleys: { '': { engine: 'scripted' } } } as const;

const VERSION_1: PythonCases = {
  ...SCRIPTED,
  client: 'dashscope',
  script: 'dashscope_deployments_cases.py',
  cases: [
    'creates, lists, gets, scales, limits and deletes a deployment',
    'streams the events of a deployment',
    'gets errors with the prescribed texts',
  ],
};

describePythonCases('deployments with the dashscope client for Python, 1.x', { ...VERSION_1, overlay: 'dashscope-1' });

describePythonCases('deployments with the dashscope client for Python, 2.x with the 1.x API', VERSION_1);

describePythonCases('deployments with the dashscope client for Python, 2.x', {
  ...SCRIPTED,
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
  parleys: {
    '': {
      engine: 'scripted',
      config:
        'models: {all: {path: /nowhere/all.gguf, interfaces: [chat, messages, responses, completions, native, embeddings]}}',
    },
  },
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
  overlay: 'dashscope-1',
});

describePythonCases('deployed models with the clients for Python, dashscope 2.x', DEPLOYED_MODELS);

describePythonCases('deployed models with the anthropic client for Python', {
  ...SCRIPTED,
  client: 'anthropic',
  script: 'anthropic_deployed_cases.py',
  cases: ['gets answers, streams and token counts of a deployment', 'gets an error that names the reached limit'],
});
