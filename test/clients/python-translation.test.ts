import { startParley } from './harness.ts';
import { shareParley } from './program-cases.ts';
import { describePythonCases } from './python-cases.ts';

const SCRIPTED = { models: [], parleys: { '': shareParley(() => startParley({ engine: 'scripted' })) } } as const;

describePythonCases('translation with the openai client for Python', {
  ...SCRIPTED,
  client: 'openai',
  script: 'openai_translation_cases.py',
  cases: [
    'gets the translation with extra_body',
    'gets a stream of segments',
    'with an unknown language raises BadRequestError',
  ],
});

const DASHSCOPE = {
  ...SCRIPTED,
  client: 'dashscope',
  script: 'dashscope_translation_cases.py',
  cases: [
    'gets the translation with translation_options',
    'streams the whole translation so far, or pieces',
    'with an unknown language gets InvalidParameter',
  ],
};

describePythonCases('translation with the dashscope client for Python, 1.x', { ...DASHSCOPE, overlay: 'dashscope-1' });

describePythonCases('translation with the dashscope client for Python, 2.x', DASHSCOPE);
