import { describePythonCases } from '../../../../../test/clients/python-cases.ts';

/** Runs one of the two speech models, so that a vocabulary for it becomes usable. */
const config = 'models: {svc-asr: {weights: default, interfaces: [speech]}}\nspeech: {allow: [127.0.0.1]}\n';

describePythonCases('speech with the dashscope client for Python, 2.x', {
  client: 'dashscope',
  script: new URL('python/dashscope_client_speech_cases.py', import.meta.url),
  models: [],
  parleys: { '': { engine: 'scripted', config } },
  cases: [
    'creates, lists, gets, updates and deletes a vocabulary',
    'recognizes files with its default model, and fails only the missing file',
    'recognizes files asynchronously',
    'fails with a reason when no file can be read',
    'recognizes streamed audio event by event, and counts its seconds',
    'recognizes a local file, and runs two recognitions on one connection',
    'gets ModelNotFound for an unknown model',
  ],
});
