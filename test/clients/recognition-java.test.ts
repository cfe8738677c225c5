import { javaProgram } from './java.ts';
import { describeProgramCases } from './program-cases.ts';

describeProgramCases('realtime recognition of the dashscope client for Java', javaProgram('RecognitionCases.java'), {
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'hears a file',
    'hears while it sends, by a callback',
    'hears while it sends, as a stream',
    'may use one object twice',
    'may ask for what is not done, and for words of its own',
    'with an unknown model gets ModelNotFound',
    'with a bad parameter gets InvalidParameter, which names it',
  ],
});
