import { describePythonCases, type PythonCases } from './python-cases.ts';

const config = 'models: {svc-asr: {weights: default, interfaces: [speech]}}\nspeech: {allow: [127.0.0.1]}\n';

const TRANSCRIPTION: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_transcription_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted', config } },
  cases: [
    'hears files, and fails alone what is none',
    'finds the times of sentences and words',
    'hears a list of words, and is refused one that is not there',
    'may ask for channels, words that are not to be read, and what nobody here can do',
    'has failed where nothing was heard, and says why',
    'is refused a file of the machine, and an unknown model',
    'asks about a task that nobody knows',
  ],
};

describePythonCases('transcription by the dashscope client for Python, 1.x', {
  ...TRANSCRIPTION,
  overlay: 'dashscope-1',
});

describePythonCases('transcription by the dashscope client for Python, what 2.x kept of 1.x', TRANSCRIPTION);
