import { createJavaCases } from '../../../../../test/clients/java.ts';
import { describeProgramCases } from '../../../../../test/clients/program-cases.ts';

describeProgramCases(
  'realtime recognition with the dashscope client for Java',
  createJavaCases(new URL('java/RecognitionCases.java', import.meta.url)),
  {
    models: [],
    parleys: { '': { engine: 'scripted' } },
    cases: [
      'recognizes a file',
      'recognizes while it sends, with a callback',
      'recognizes while it sends, as a stream',
      'may use one object twice',
      'may send ignored parameters and a vocabulary',
      'with an unknown model gets ModelNotFound',
      'with a bad parameter gets InvalidParameter, which names it',
    ],
  },
);
