import { retryWhenEngineGone, EngineGoneError } from '../engine-gone-error.ts';
import type { EngineEndpoint } from '../engine-process.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createSpeechClient, type SpeechClient } from './speech-client.ts';

/** Client of a child process that may be restarted at any time. */
export interface RestartableClient {
  /**
   * Sends a call. A call that a dying process did not answer is sent once more to its successor.
   * @throws as SpeechClient.
   */
  call<T>(send: (client: SpeechClient) => Promise<T>, signal: AbortSignal): Promise<T>;
  readonly state: 'ready' | 'starting' | 'failing';
  /** Stops the process and closes the client. */
  close(): Promise<void>;
}

export function createRestartableClient<Model>(process: SupervisedProcess<EngineEndpoint<Model>>): RestartableClient {
  let client: { readonly endpoint: EngineEndpoint<Model>; readonly speechClient: SpeechClient } | undefined;

  /** Returns the client of the running process; closes the client of its predecessor. */
  const getClient = (endpoint: EngineEndpoint<Model>): SpeechClient => {
    if (client?.endpoint !== endpoint) {
      client?.speechClient.close();
      client = { endpoint, speechClient: createSpeechClient(endpoint) };
    }
    return client.speechClient;
  };

  return {
    call: (send, signal) =>
      retryWhenEngineGone(async () => {
        const endpoint = await process.waitUntilReady(signal);
        try {
          return await send(getClient(endpoint));
        } catch (error) {
          if (error instanceof EngineGoneError) await process.confirmExit(endpoint);
          throw error;
        }
      }),
    get state() {
      return process.state === 'stopped' ? 'starting' : process.state;
    },
    async close() {
      await process.stop();
      client?.speechClient.close();
    },
  };
}
