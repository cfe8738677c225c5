import { describePythonCases, type PythonCases } from './python-cases.ts';

const RECOGNITION: PythonCases = {
  client: 'dashscope',
  script: 'dashscope_recognition_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'hears a file',
    'hears while it sends, first what there is so far and then the whole sentence',
    'hears the same however the audio is cut',
    'may use one object twice',
    'may ask for what is not done, and for words of its own',
    'hears nothing where nobody speaks',
    'with an unknown model gets ModelNotFound',
    'with a bad parameter gets InvalidParameter, which names it',
    'hears of a failure by its callback, too',
    'with a wrong key is told so at the handshake',
    'may name its own workspace and no other',
  ],
};

describePythonCases('realtime recognition of the dashscope client for Python, 1.x', {
  ...RECOGNITION,
  overlay: 'dashscope-1',
});

describePythonCases('realtime recognition of the dashscope client for Python, what 2.x kept of 1.x', RECOGNITION);
