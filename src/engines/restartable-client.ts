import type { EngineEvent } from '../core/event.ts';
import type { EngineRun, TextEngine } from './engine.ts';
import { EngineGoneError } from './engine-gone-error.ts';
import type { SupervisedProcess } from './supervisor.ts';

/** Client of a process that may be restarted at any time. */
export interface RestartableClient<Client> {
  /** Sends a call with a single result. A call that a dying process did not answer is sent once more to its successor. */
  call<T>(send: (client: Client) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Starts a run, and starts it once more if the process ends before the first output.
   * @param onBatch Called for each batch before its consumer receives it.
   */
  start(send: (client: Client) => Promise<EngineRun>, signal: AbortSignal, onBatch?: () => void): Promise<EngineRun>;
  readonly state: TextEngine['state'];
  /** Client of the last process that was used. */
  readonly current: Client | undefined;
  /** Stops the process and closes the client. */
  close(): Promise<void>;
}

interface RestartableClientOptions<Ready, Client> {
  /** The process, run by this process or another one of Parley. */
  readonly process: SupervisedProcess<Ready>;
  /** Creates the client of a process that is ready; called again after each start. */
  readonly connect: (ready: Ready) => Client;
  /** Whether an error other than EngineGoneError may come from the end of the process. Default: never. */
  readonly mayBeExit?: (error: unknown) => boolean;
}

export function createRestartableClient<Ready, Client extends { close(): void | Promise<void> }>({
  process,
  connect,
  mayBeExit = () => false,
}: RestartableClientOptions<Ready, Client>): RestartableClient<Client> {
  let last: { readonly ready: Ready; readonly client: Client } | undefined;
  /** Returns the client of the running process; closes the client of its predecessor. */
  const getClient = (ready: Ready): Client => {
    if (last?.ready === ready) return last.client;
    // Not awaited: the old process is gone, and so are its calls.
    last?.client.close()?.catch(() => undefined);
    last = { ready, client: connect(ready) };
    return last.client;
  };
  /** Rethrows an error. If the process has ended, waits until that is known, so that the next call gets a new process. */
  const createErrorHandler =
    (ready: Ready) =>
    async (error: unknown): Promise<never> => {
      if (error instanceof EngineGoneError) await process.confirmExit(ready);
      else if (mayBeExit(error) && (await process.confirmExit(ready))) throw new EngineGoneError(error);
      throw error;
    };
  return {
    call: (send, signal) =>
      retryWhenGone(async () => {
        const ready = await process.waitUntilReady(signal);
        return await send(getClient(ready)).catch(createErrorHandler(ready));
      }),
    async start(send, signal, onBatch = () => undefined) {
      const startOnce = async (): Promise<EngineRun> => {
        const ready = await process.waitUntilReady(signal);
        const handleError = createErrorHandler(ready);
        const started = await send(getClient(ready)).catch(handleError);
        return { ...started, batches: withErrorHandler(started.batches, handleError, onBatch) };
      };
      let isRestarted = false;
      const restart = async (): Promise<EngineRun> => {
        isRestarted = true;
        return await startOnce();
      };
      const started = await startOnce().catch((error: unknown) => {
        if (error instanceof EngineGoneError) return restart();
        throw error;
      });
      return isRestarted ? started : { ...started, batches: retryBeforeOutput(started.batches, restart) };
    },
    get state() {
      return process.state === 'stopped' ? 'starting' : process.state;
    },
    get current() {
      return last?.client;
    },
    async close() {
      await process.stop();
      await last?.client.close();
    },
  };
}

/** Repeats a call once if the process ended meanwhile. */
const retryWhenGone = <T>(call: () => Promise<T>): Promise<T> =>
  call().catch((error: unknown) => {
    if (error instanceof EngineGoneError) return call();
    throw error;
  });

async function* retryBeforeOutput(
  batches: AsyncIterable<readonly EngineEvent[]>,
  restart: () => Promise<EngineRun>,
): AsyncGenerator<readonly EngineEvent[], void> {
  let hasOutput = false;
  try {
    for await (const batch of batches) {
      hasOutput = true;
      yield batch;
    }
    return;
  } catch (error) {
    if (hasOutput || !(error instanceof EngineGoneError)) throw error;
  }
  yield* (await restart()).batches;
}

/** Yields the same batches. Passes an iteration error to `handleError`, which rejects with the actual cause. */
async function* withErrorHandler<T>(
  batches: AsyncIterable<T>,
  handleError: (error: unknown) => Promise<never>,
  onBatch: () => void,
): AsyncGenerator<T, void> {
  try {
    for await (const batch of batches) {
      onBatch();
      yield batch;
    }
  } catch (error) {
    await handleError(error);
  }
}
