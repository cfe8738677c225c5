import type { Sound } from '../recording.ts';

/** One stream of an Ogg file, packet by packet. */
export interface OggCodec {
  /** @throws Unreadable: that packet is lost then. */
  push(packet: Uint8Array): Sound | undefined;
  /** How many samples of its own rate a position counts since the beginning of what `push` gave. */
  samplesAt(position: number): number;
  /** Gives memory back. */
  close(): void;
}
