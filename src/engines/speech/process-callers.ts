import { askAgain, EngineGoneError } from '../engine-gone.ts';
import type { EngineUp } from '../engine-process.ts';
import type { Supervised } from '../supervisor.ts';
import { createSpeechClient } from './speech-client.ts';
import type { SpeechClient } from './speech-client.ts';

/** Those who call a process that may be started again at any time. */
export interface ProcessCallers {
  /** What a dying process took with it is asked once more, of the next one. @throws as SpeechClient. */
  ask<T>(ask: (client: SpeechClient) => Promise<T>, signal: AbortSignal): Promise<T>;
  readonly state: 'ready' | 'starting' | 'failing';
  /** Ends the process, as far as we are concerned. */
  close(): Promise<void>;
}

export function createProcessCallers<Model>(process: Supervised<EngineUp<Model>>): ProcessCallers {
  let client: { readonly of: EngineUp<Model>; readonly calls: SpeechClient } | undefined;

  /** The client of the process that runs now. What is left of that of another one goes. */
  const clientOf = (up: EngineUp<Model>): SpeechClient => {
    if (client?.of !== up) {
      client?.calls.close();
      client = { of: up, calls: createSpeechClient(up) };
    }
    return client.calls;
  };

  return {
    ask: (ask, signal) =>
      askAgain(async () => {
        const up = await process.ready(signal);
        try {
          return await ask(clientOf(up));
        } catch (error) {
          if (error instanceof EngineGoneError) await process.gone(up);
          throw error;
        }
      }),
    get state() {
      return process.state === 'stopped' ? 'starting' : process.state;
    },
    async close() {
      await process.stop();
      client?.calls.close();
    },
  };
}
