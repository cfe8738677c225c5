import { javaProgram } from './java.ts';
import { describeProgramCases } from './program-cases.ts';
import { startWorkingParley } from './working-parley.ts';

describeProgramCases(
  'the dashscope client for Java, that lets the model use what runs here',
  javaProgram('ServerToolsCases.java'),
  {
    models: [],
    parleys: { '': startWorkingParley },
    cases: [
      'gets what was found beside the answer',
      'gets it as text, too',
      'streams pieces, with what was found in the first and the last',
      'streams the whole answer so far, with what was found at the end',
      'gets what was found before the answer, and then no more',
      'is told nothing of sources that it did not ask for',
      'gets programs while thinking, streamed',
      'hears of both, and of their counts',
      'is told how programs are to be asked for',
      'with a wish that cannot be gets InvalidParameter, in the words that are known',
    ],
  },
);
