import { startParley } from './harness.ts';
import { shareParley } from './program-cases.ts';
import { describePythonCases, type PythonCases } from './python-cases.ts';

const SCRIPTED = { models: [], parleys: { '': shareParley(() => startParley({ engine: 'scripted' })) } } as const;

describePythonCases('files with the openai client for Python', {
  ...SCRIPTED,
  client: 'openai',
  script: 'openai_files_cases.py',
  cases: [
    'uploads, lists, retrieves, reads and deletes a file',
    'uploads megabytes from a stream',
    'goes through all pages, also while deleting',
    'with a bad purpose raises BadRequestError, which names it',
    'uploads a file in parts with its helper, from memory and from the disk',
    'cancels an upload in parts, and gets an error that names a wrong digest',
  ],
});

const VERSION_1: PythonCases = {
  ...SCRIPTED,
  client: 'dashscope',
  script: 'dashscope_files_cases.py',
  cases: ['uploads, lists, gets and deletes a file', 'gets InvalidParameter for an invalid page size'],
};

describePythonCases('files with the dashscope client for Python, 1.x', { ...VERSION_1, overlay: 'dashscope-1' });

describePythonCases('files with the dashscope client for Python, 2.x with the 1.x API', VERSION_1);

describePythonCases('files with the dashscope client for Python, 2.x', {
  ...SCRIPTED,
  client: 'dashscope',
  script: 'dashscope_client_files_cases.py',
  cases: [
    'uploads, lists, gets and deletes a file',
    'gets a file uploaded for extraction, which a chat of the compatible interface may name',
    'cannot use a file of another purpose in a chat, and the error names the purpose',
  ],
});
