import type { IncomingMessage } from 'node:http';

/** How long a sender may take. One who has sent everything is never told that he is slow. */
export interface Patience {
  /** From now on so many ms, instead of what was said before. */
  wait(ms: number): void;
  /** It is us whom the sender waits for. */
  rest(): void;
}

export function createPatience(request: IncomingMessage, onOver: () => void): Patience {
  let timer: NodeJS.Timeout | undefined;
  let setMs: number | undefined;
  const over = (): void => {
    if (!request.complete && setMs !== undefined) onOver();
  };
  if (hasBody(request)) request.once('close', () => clearTimeout(timer));
  return {
    wait(ms) {
      if (!hasBody(request)) return;
      if (timer && setMs === ms) return void timer.refresh();
      clearTimeout(timer);
      setMs = ms;
      timer = setTimeout(over, ms).unref();
    },
    rest() {
      clearTimeout(timer);
      timer = undefined;
      setMs = undefined;
    },
  };
}

/** RFC 9112, 6.3. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
