import { createJavaCases } from '../../../../../test/clients/java.ts';
import { describeProgramCases } from '../../../../../test/clients/program-cases.ts';

describeProgramCases(
  'transcription with the dashscope client for Java',
  createJavaCases(new URL('java/TranscriptionCases.java', import.meta.url)),
  {
    models: [],
    parleys: { '': { engine: 'scripted', config: 'speech: {allow: [127.0.0.1]}\n' } },
    cases: [
      'recognizes files, and fails only those that cannot be read',
      'may send channels, a word filter and ignored parameters',
      'fails when no file can be read',
      'is refused with a file URL',
    ],
  },
);
