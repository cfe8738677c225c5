import { describePythonCases, type PythonCases } from './python-cases.ts';

const ALONE = { models: [], parleys: { '': { engine: 'scripted' } } } as const;

describePythonCases('files of the openai client for Python', {
  ...ALONE,
  client: 'openai',
  script: 'openai_files_cases.py',
  cases: [
    'uploads, lists, retrieves, reads and deletes a file',
    'uploads megabytes from a stream',
    'goes through all pages, also when it deletes on the way',
    'with a bad purpose raises BadRequestError, which names it',
  ],
});

const OLD: PythonCases = {
  ...ALONE,
  client: 'dashscope',
  script: 'dashscope_files_cases.py',
  cases: ['uploads, lists, gets and deletes a file', 'hears of a page that cannot be'],
};

describePythonCases('files of the dashscope client for Python, 1.x', { ...OLD, overlay: 'dashscope-1' });

describePythonCases('files of the dashscope client for Python, what 2.x kept of 1.x', OLD);

describePythonCases('files of the dashscope client for Python, 2.x', {
  ...ALONE,
  client: 'dashscope',
  script: 'dashscope_client_files_cases.py',
  cases: [
    'uploads, lists, gets and deletes a file',
    'shows a file that was sent for extraction, which a chat on the other interface then names',
    'has its own files refused as documents, with the purpose that they came in for',
  ],
});
