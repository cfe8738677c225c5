import { startParley } from '../../../../../test/clients/harness.ts';
import { shareParley } from '../../../../../test/clients/program-cases.ts';
import { describePythonCases, type PythonCases } from '../../../../../test/clients/python-cases.ts';

const config = 'models: {svc-asr: {weights: default, interfaces: [speech]}}\nspeech: {allow: [127.0.0.1]}\n';

const TRANSCRIPTION: PythonCases = {
  client: 'dashscope',
  script: new URL('python/dashscope_transcription_cases.py', import.meta.url),
  models: [],
  parleys: { '': shareParley(() => startParley({ engine: 'scripted', config })) },
  cases: [
    'recognizes files, and fails only those that cannot be read',
    'gets the times of sentences and words',
    'accepts a vocabulary, and is refused with an unknown one',
    'may send channels, a word filter and ignored parameters',
    'fails with a reason when no file can be read',
    'is refused with a file URL, and with an unknown model',
    'gets status UNKNOWN for an unknown task',
  ],
};

describePythonCases('transcription with the dashscope client for Python, 1.x', {
  ...TRANSCRIPTION,
  overlay: 'dashscope-1',
});

describePythonCases('transcription with the dashscope client for Python, 2.x with the 1.x API', TRANSCRIPTION);
