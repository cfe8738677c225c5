import type { SocketPeer } from '../../../protocols/socket-endpoint.ts';
import { REALTIME_AUDIO_BYTES_MAX } from './limits.ts';

/** Bytes of messages that are queued before task-started; reading pauses above it. The largest message fits. */
const EARLY_BYTES_MAX = REALTIME_AUDIO_BYTES_MAX;
/** Estimated memory of a queued message besides its bytes. */
const EARLY_MESSAGE_EXTRA_BYTES = 256;

/** Messages of a client that does not wait for task-started. */
export interface EarlyMessages {
  /** Queues a message; pauses reading when the queue is full. @param bytes Size of the message. */
  push(handler: () => void, bytes: number): void;
  /** Handles the queued messages in order, after reading was resumed. */
  handleAll(): void;
}

export function createEarlyMessages(peer: Pick<SocketPeer, 'pauseReading' | 'resumeReading'>): EarlyMessages {
  const handlers: (() => void)[] = [];
  let queuedBytes = 0;
  const isFull = (): boolean => queuedBytes > EARLY_BYTES_MAX;
  return {
    push(handler, bytes) {
      const wasFull = isFull();
      handlers.push(handler);
      queuedBytes += bytes + EARLY_MESSAGE_EXTRA_BYTES;
      if (!wasFull && isFull()) peer.pauseReading();
    },
    handleAll() {
      if (isFull()) peer.resumeReading();
      for (const handler of handlers) handler();
    },
  };
}
