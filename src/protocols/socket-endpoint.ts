import type { Owner } from '../core/context.ts';
import type { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { Family } from './endpoint.ts';

/** The other side of a websocket, as a session sees it. */
export interface SocketPeer {
  send(text: string): void;
  /** Nothing is read from it until it is released; what was read already may still come. */
  hold(): void;
  release(): void;
  /** After what was sent. Nothing comes in any more, but `gone`. @param code RFC 6455, 7.4. */
  close(code: number, reason: string): void;
}

/** One connection, from the upgrade to its end. */
export interface SocketSession {
  text(message: string): void;
  binary(message: Uint8Array): void;
  /** About once a second, as long as the connection is there. */
  tick(): void;
  /** Takes nothing new; closes when what runs has ended. */
  drain(): void;
  /** Breaks off what runs, in the protocol's way, and closes. */
  end(reason: ServiceError): void;
  /** The peer is not there any more. */
  gone(): void;
}

export interface SocketContext {
  /** Of the upgrade: stands in every line of the log. */
  readonly requestId: string;
  readonly owner: Owner;
  /** @throws ServiceError `unauthenticated` when the key has been revoked since. */
  checkKey(): Promise<void>;
}

/** What is spoken on a path after an upgrade. */
export interface SocketEndpoint {
  /** Names the upgrade in logs and metrics, e.g. `realtime.connect`. */
  readonly operation: string;
  /** Without trailing slash. */
  readonly path: string;
  readonly family: Family;
  /** Where the specification offers it. */
  readonly regions: readonly RegionId[];
  open(peer: SocketPeer, context: SocketContext): SocketSession;
}
