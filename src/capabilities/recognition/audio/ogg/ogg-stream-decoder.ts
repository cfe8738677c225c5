import type { DecodedBlock } from '../format-decoder.ts';

/** Decoder of one Ogg stream. */
export interface OggStreamDecoder {
  /** Decodes a packet. @throws AudioDecodingError if the packet is damaged; its samples are lost then. */
  push(packet: Uint8Array): DecodedBlock | undefined;
  /** Converts a granule position to a number of decoded samples. */
  granuleToSamples(position: number): number;
  /** Releases memory. */
  close(): void;
}
