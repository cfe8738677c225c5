import { createJavaProgram } from './java.ts';
import { describeProgramCases } from './program-cases.ts';

describeProgramCases('transcription with the dashscope client for Java', createJavaProgram('TranscriptionCases.java'), {
  models: [],
  parleys: { '': { engine: 'scripted', config: 'speech: {allow: [127.0.0.1]}\n' } },
  cases: [
    'recognizes files, and fails only those that cannot be read',
    'may send channels, a word filter and ignored parameters',
    'fails when no file can be read',
    'is refused with a file URL',
  ],
});
