import type { ClientRequest } from 'node:http';

/**
 * Destroys an HTTP request when the signal aborts, and removes its listener from the signal when the request closes.
 *
 * The `signal` option of `node:http` destroys the request with an error. If the response is complete but not read to
 * its end, nothing listens for that error on the socket, and the process crashes. This function destroys without an
 * error, and adds listeners for the errors that a kept-alive socket emits between two requests.
 *
 * After an abort the request emits `error` if no response has started; otherwise an incomplete response emits `error`.
 * The caller must handle the first; this function handles the second, for responses that nothing reads any more.
 */
export function destroyOnAbort(request: ClientRequest, signal: AbortSignal | undefined): void {
  request.on('response', (response) => response.on('error', ignore));
  request.on('socket', (socket) => {
    // A kept-alive socket is passed here once per request.
    if (!socket.listeners('error').includes(ignore)) socket.on('error', ignore);
  });
  if (!signal) return;
  const onAbort = (): void => void request.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  request.on('close', () => signal.removeEventListener('abort', onAbort));
  if (signal.aborted) onAbort();
}

const ignore = (): void => undefined;
