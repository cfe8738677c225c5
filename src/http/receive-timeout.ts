import type { IncomingMessage } from 'node:http';

/** Limits how long a client may take to send a body. Never fires once the body is complete. */
export interface ReceiveTimeout {
  /** Starts the timer, or restarts it with a new duration. */
  start(ms: number): void;
  /** Stops the timer while the server is the slow side. */
  pause(): void;
}

export function createReceiveTimeout(request: IncomingMessage, onTimeout: () => void): ReceiveTimeout {
  let timer: NodeJS.Timeout | undefined;
  let currentMs: number | undefined;
  const onTimer = (): void => {
    if (!request.complete && currentMs !== undefined) onTimeout();
  };
  if (hasBody(request)) request.once('close', () => clearTimeout(timer));
  return {
    start(ms) {
      if (!hasBody(request)) return;
      if (timer && currentMs === ms) return void timer.refresh();
      clearTimeout(timer);
      currentMs = ms;
      timer = setTimeout(onTimer, ms).unref();
    },
    pause() {
      clearTimeout(timer);
      timer = undefined;
      currentMs = undefined;
    },
  };
}

/** RFC 9112, 6.3. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
