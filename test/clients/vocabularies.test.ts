import { javaProgram } from './java.ts';
import { describeProgramCases } from './program-cases.ts';
import { describePythonCases, type PythonCases } from './python-cases.ts';

/** Of the two models one has something to run, so that a vocabulary for it can be used; whatever this machine has. */
const config = 'models: {svc-asr: {weights: default, interfaces: [speech]}, svc-asr-realtime: {none: not there}}\n';
const ALONE = { models: [], parleys: { '': { engine: 'scripted', config } } } as const;

const PYTHON: PythonCases = {
  ...ALONE,
  client: 'dashscope',
  script: 'dashscope_vocabulary_cases.py',
  cases: [
    'makes, lists, queries, updates and deletes a vocabulary',
    'goes through its vocabularies in pages, the newest first, and by prefix',
    'hears that a vocabulary cannot be used yet',
    'hears which entry is against which rule, and keeps what it had',
    'may have ten of them',
  ],
};

describePythonCases('vocabularies of the dashscope client for Python, 1.x', { ...PYTHON, overlay: 'dashscope-1' });

describePythonCases('vocabularies of the dashscope client for Python, what 2.x kept of 1.x', PYTHON);

describeProgramCases('vocabularies of the dashscope client for Java', javaProgram('VocabularyCases.java'), {
  ...ALONE,
  cases: [
    'makes, lists, queries, updates and deletes a vocabulary',
    'goes through its vocabularies in pages, the newest first, and by prefix',
    'hears what there is not, and what is against a rule',
  ],
});
