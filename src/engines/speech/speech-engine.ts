import type { SpeechEngine } from '../speech-engine.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createSpeechClient } from './speech-client.ts';
import { createRestartableClient } from '../restartable-client.ts';
import type { SpeechEndpoint } from './protocol.ts';

/** Creates the engine that sends calls to a Whisper process. Closing the engine stops the process. */
export function createSpeechEngine({ process }: { readonly process: SupervisedProcess<SpeechEndpoint> }): SpeechEngine {
  const restartable = createRestartableClient({ process, connect: createSpeechClient });
  return {
    get state() {
      return restartable.state;
    },
    loadModel: async () => (await process.waitUntilReady()).model,
    recognize: (request, signal) => restartable.call((client) => client.recognize(request, signal), signal),
    detectVoice: (samples, state, signal) =>
      restartable.call((client) => client.detectVoice(samples, state, signal), signal),
    close: () => restartable.close(),
  };
}
