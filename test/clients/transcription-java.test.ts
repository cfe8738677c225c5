import { javaProgram } from './java.ts';
import { describeProgramCases } from './program-cases.ts';

describeProgramCases('transcription by the dashscope client for Java', javaProgram('TranscriptionCases.java'), {
  models: [],
  parleys: { '': { engine: 'scripted', config: 'speech: {allow: [127.0.0.1]}\n' } },
  cases: [
    'hears files, and fails alone what is none',
    'may ask for channels, words that are not to be read, and what nobody here can do',
    'has failed where nothing was heard',
    'is refused a file of the machine',
  ],
});
