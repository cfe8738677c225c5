import { describePythonCases, type PythonCases } from '../../../../../test/clients/python-cases.ts';

const RECOGNITION: PythonCases = {
  client: 'dashscope',
  script: new URL('python/dashscope_recognition_cases.py', import.meta.url),
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'recognizes a file',
    'recognizes while it sends, with partial results before each whole sentence',
    'recognizes the same text with every frame size',
    'may use one object twice',
    'may send ignored parameters and a vocabulary',
    'recognizes nothing in silence',
    'with an unknown model gets ModelNotFound',
    'with a bad parameter gets InvalidParameter, which names it',
    'gets a failure through its callback, too',
    'with a wrong key is refused at the handshake',
    'may name its own workspace and no other',
  ],
};

describePythonCases('realtime recognition with the dashscope client for Python, 1.x', {
  ...RECOGNITION,
  overlay: 'dashscope-1',
});

describePythonCases('realtime recognition with the dashscope client for Python, 2.x with the 1.x API', RECOGNITION);
