import { describePythonCases, type PythonCases } from './python-cases.ts';

const ALONE = { models: [], parleys: { '': { engine: 'scripted' } } } as const;

const OLD: PythonCases = {
  ...ALONE,
  client: 'dashscope',
  script: 'dashscope_deployments_cases.py',
  cases: [
    'makes, lists, gets, scales, limits and deletes one',
    'follows one',
    'hears what cannot be in the words of the service',
  ],
};

describePythonCases('deployments of the dashscope client for Python, 1.x', { ...OLD, overlay: 'dashscope-1' });

describePythonCases('deployments of the dashscope client for Python, what 2.x kept of 1.x', OLD);

describePythonCases('deployments of the dashscope client for Python, 2.x', {
  ...ALONE,
  client: 'dashscope',
  script: 'dashscope_client_deployments_cases.py',
  cases: [
    'makes, lists, gets, scales and deletes one',
    'does the same asynchronously',
    'follows one',
    'raises what cannot be as errors of their kinds',
  ],
});

const CALLED: PythonCases = {
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
    'the openai client chats with one, streams from it and has vectors of it',
    'the dashscope client generates with one, streams from it and has vectors of it',
    'each hears in its own words that nothing serves, and calls again when something does',
    'each hears in its own words which limit is reached, and when to come again',
  ],
};

describePythonCases('deployed models of Python clients, dashscope 1.x', { ...CALLED, overlay: 'dashscope-1' });

describePythonCases('deployed models of Python clients, dashscope 2.x', CALLED);

describePythonCases('deployed models of the anthropic client for Python', {
  ...ALONE,
  client: 'anthropic',
  script: 'anthropic_deployed_cases.py',
  cases: ['asks one, streams from it and counts for it', 'hears which limit is reached'],
});
