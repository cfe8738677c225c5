import { createJavaProgram } from '../../../../../test/clients/java.ts';
import { startParley } from '../../../../../test/clients/harness.ts';
import { describeProgramCases, shareParley } from '../../../../../test/clients/program-cases.ts';
import { describePythonCases, type PythonCases } from '../../../../../test/clients/python-cases.ts';

/** Runs one of the two speech models, so that a vocabulary for it becomes usable, whatever weights the machine has. */
const config = 'models: {svc-asr: {weights: default, interfaces: [speech]}, svc-asr-realtime: {none: not there}}\n';
const SCRIPTED = {
  models: [],
  parleys: { '': shareParley(() => startParley({ engine: 'scripted', config })) },
} as const;

const PYTHON: PythonCases = {
  ...SCRIPTED,
  client: 'dashscope',
  script: new URL('python/dashscope_vocabulary_cases.py', import.meta.url),
  cases: [
    'creates, lists, queries, updates and deletes a vocabulary',
    'lists its vocabularies in pages, newest first, and by prefix',
    'gets status UNDEPLOYED while no engine serves the target model',
    'gets the invalid entry and its rule, and keeps the old entries',
    'may have at most ten vocabularies',
  ],
};

describePythonCases('vocabularies with the dashscope client for Python, 1.x', { ...PYTHON, overlay: 'dashscope-1' });

describePythonCases('vocabularies with the dashscope client for Python, 2.x with the 1.x API', PYTHON);

describeProgramCases(
  'vocabularies with the dashscope client for Java',
  createJavaProgram(new URL('java/VocabularyCases.java', import.meta.url)),
  {
    ...SCRIPTED,
    cases: [
      'creates, lists, queries, updates and deletes a vocabulary',
      'lists its vocabularies in pages, newest first, and by prefix',
      'gets errors for unknown vocabularies and invalid entries',
    ],
  },
);
