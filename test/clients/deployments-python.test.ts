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
