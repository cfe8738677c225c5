import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { ServiceError } from '../core/error.ts';
import type { StartInterval } from '../lib/start-interval.ts';
import { LARGE_BODY_BYTES, SOCKET_MESSAGE_BYTES_MAX } from './limits.ts';

export interface ReserveMessagesOptions {
  /** Waits for memory of a large message. @throws ServiceError if too many wait or the wait is too long. */
  readonly acquire: (bytes: number, signal: AbortSignal) => Promise<() => void>;
  /** Stops or continues reading from the websocket. */
  readonly setPaused: (isPaused: boolean) => void;
  /** Ends the websocket. */
  readonly fail: (error: ServiceError) => void;
  /** Ms in which a large message must arrive once it has its memory, unless the session does not read. */
  readonly receiveMs: number;
  readonly startInterval: StartInterval;
}

/** Bytes of a frame without its content, as clients send pings and pongs. */
const CONTROL_FRAME_BYTES = 6;

/** Bytes of an incomplete message without memory: what a small one may have, and what is read at once behind it. */
const PARTIAL_BYTES_MAX = 2 * LARGE_BODY_BYTES;

/** Bytes of an incomplete message that is too long: the longest one, and what is read at once behind it. */
const LONG_BYTES_MIN = SOCKET_MESSAGE_BYTES_MAX + 2 * LARGE_BODY_BYTES;

const BUSY_MESSAGE = `Too many large messages arrive at once. Send at most ${LARGE_BODY_BYTES / 1024} KiB each, or try again later.`;
const LONG_MESSAGE = `A message may have at most ${SOCKET_MESSAGE_BYTES_MAX} bytes.`;
const SLOW_MESSAGE = 'A message took too long to arrive.';

/**
 * Reserves memory for each message of a websocket that is large, before the rest of it is read. The length of a message
 * with several frames is unknown, so each one takes the memory of the longest. Call this after the listeners that handle
 * messages: the memory is released after them.
 */
export function reserveMessages(
  socket: WebSocket,
  connection: Socket,
  { acquire, setPaused, fail, receiveMs, startInterval }: ReserveMessagesOptions,
): void {
  /** Bytes that were received since the last message was complete. */
  let partialBytes = 0;
  let endReservation: (() => void) | undefined;
  let isTooLong = false;

  const reserve = (): void => {
    const ended = new AbortController();
    let release: (() => void) | undefined;
    let stopTimer: (() => void) | undefined;
    endReservation = () => {
      endReservation = undefined;
      ended.abort();
      stopTimer?.();
      release?.();
      setPaused(false);
    };
    setPaused(true);
    acquire(SOCKET_MESSAGE_BYTES_MAX, ended.signal).then(
      (acquired) => {
        if (ended.signal.aborted) return acquired();
        release = acquired;
        // A session may not read for longer, while it works on what came before.
        stopTimer = startInterval(receiveMs, () => {
          if (!socket.isPaused) fail(new ServiceError('timeout', SLOW_MESSAGE));
        });
        setPaused(false);
      },
      // The websocket stays paused: what else the client sends is not read.
      (error: unknown) => {
        if (!ended.signal.aborted) fail(new ServiceError(ServiceError.from(error).kind, BUSY_MESSAGE));
      },
    );
  };
  const onControlFrame = (content: Buffer): void => {
    partialBytes = Math.max(0, partialBytes - content.length - CONTROL_FRAME_BYTES);
  };

  connection.on('data', (bytes: Buffer) => {
    partialBytes += bytes.length;
    if (partialBytes >= PARTIAL_BYTES_MAX && !endReservation) reserve();
    if (partialBytes < LONG_BYTES_MIN || isTooLong) return;
    isTooLong = true;
    setPaused(true);
    fail(new ServiceError('too-large', LONG_MESSAGE));
  });
  socket.on('ping', onControlFrame).on('pong', onControlFrame);
  socket.on('message', () => {
    partialBytes = 0;
    endReservation?.();
  });
  socket.on('close', () => endReservation?.());
}
