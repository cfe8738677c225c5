import { describePythonCases } from './python-cases.ts';

/** Of the two models one has something to run, so that a vocabulary for it can be used. */
const config = 'models: {svc-asr: {weights: default, interfaces: [speech]}}\nspeech: {allow: [127.0.0.1]}\n';

describePythonCases('speech by the dashscope client for Python, 2.x', {
  client: 'dashscope',
  script: 'dashscope_client_speech_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted', config } },
  cases: [
    'makes, lists, gets, updates and deletes a vocabulary',
    'hears files with the model that it names by itself, and fails alone what is none',
    'hears files while it does something else',
    'has failed where nothing was heard, and says why',
    'hears what it sends, event by event, and counts its seconds',
    'hears a file of its own, and two recognitions on one connection',
    'is told that there is no such model',
  ],
});
