import type { SpeechEngine } from '../speech-engine.ts';
import type { Supervised } from '../supervisor.ts';
import { createProcessCallers } from './process-callers.ts';
import type { SpeechUp } from './protocol.ts';

/** Recognition by whisper: the side that calls its process, which ends with the engine. */
export function createSpeechEngine({ process }: { readonly process: Supervised<SpeechUp> }): SpeechEngine {
  const callers = createProcessCallers(process);
  return {
    get state() {
      return callers.state;
    },
    model: async () => (await process.ready()).model,
    recognize: (request, signal) => callers.ask((client) => client.recognize(request, signal), signal),
    detectVoice: (samples, state, signal) =>
      callers.ask((client) => client.detectVoice(samples, state, signal), signal),
    close: () => callers.close(),
  };
}
