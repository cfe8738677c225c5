import type { Owner } from '../core/context.ts';
import type { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { ProtocolFamily } from './endpoint.ts';

/** The client side of a WebSocket, as a session sees it. */
export interface SocketPeer {
  send(text: string): void;
  /** Stops reading from the socket until `resumeReading`. Messages that were already read may still arrive. */
  pauseReading(): void;
  resumeReading(): void;
  /**
   * Closes the socket after everything sent before. The session gets no further calls except `onDisconnect`.
   * @param code Close code of RFC 6455, section 7.4.
   */
  close(code: number, reason: string): void;
}

/** One connection, from the upgrade to its end. */
export interface SocketSession {
  onText(message: string): void;
  onBinary(message: Uint8Array): void;
  /** Called about once a second while the connection is open. */
  onTick(): void;
  /** Accepts nothing new, and closes the connection once the running work has finished. */
  drain(): void;
  /** Stops the running work with the protocol's error message, and closes the connection. */
  abort(reason: ServiceError): void;
  /** Called when the client has disconnected. */
  onDisconnect(): void;
}

export interface SocketContext {
  /** Request id of the upgrade; part of every log line. */
  readonly requestId: string;
  readonly owner: Owner;
  /** @throws ServiceError `unauthenticated` if the key has been revoked since the upgrade. */
  checkKey(): Promise<void>;
}

/** A WebSocket path and its protocol. */
export interface SocketEndpoint {
  /** Names the upgrade in logs and metrics, e.g. `realtime.connect`. */
  readonly operation: string;
  /** Path without a trailing slash. */
  readonly path: string;
  readonly family: ProtocolFamily;
  /** Regions that offer the endpoint according to the specification. */
  readonly regions: readonly RegionId[];
  open(peer: SocketPeer, context: SocketContext): SocketSession;
}
