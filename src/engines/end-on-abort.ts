import type { ClientRequest } from 'node:http';

/**
 * Ends a call over HTTP when the signal aborts, and lets go of the signal when the call is over.
 *
 * `node:http` could take the signal itself, but it destroys with an error: where the answer has come whole and is not read
 * to its end, nobody listens any more when the socket tells that error, and the process ends. Here nothing is destroyed
 * with an error, and whatever a socket tells by itself between two calls is heard.
 *
 * The request then says `error` where its answer had not begun; the answer does where it was not whole. The caller hears
 * the first; the second is heard here, for answers that nobody reads any more.
 */
export function endOnAbort(sent: ClientRequest, signal: AbortSignal | undefined): void {
  sent.on('response', (response) => response.on('error', ignore));
  sent.on('socket', (socket) => {
    // A kept connection passes here with each of its calls.
    if (!socket.listeners('error').includes(ignore)) socket.on('error', ignore);
  });
  if (!signal) return;
  const onAbort = (): void => void sent.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  sent.on('close', () => signal.removeEventListener('abort', onAbort));
  if (signal.aborted) onAbort();
}

const ignore = (): void => undefined;
