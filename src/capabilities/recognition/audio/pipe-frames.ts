/**
 * Frame header between the service and the decoder process: one byte for the type, four for the length (little-endian).
 */
export const FRAME_HEADER_BYTES = 5;

// Frame types sent to the process.
export const FRAME_REQUEST = 0;
export const FRAME_SOURCE_BYTES = 1;
export const FRAME_SOURCE_END = 2;
/** The following bytes are from the requested position. */
export const FRAME_SEEK_DONE = 3;

// Frame types sent by the process.
export const FRAME_SAMPLES = 4;
export const FRAME_SEEK = 5;
export const FRAME_RESULT = 6;

/** Maximum length of a frame's content. */
export const FRAME_BYTES_MAX = 4 * 1024 * 1024;

export function encodeFrameHeader(kind: number, bytes: number): Uint8Array {
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  header[0] = kind;
  new DataView(header.buffer).setUint32(1, bytes, true);
  return header;
}

export interface PipeFrameHeader {
  readonly kind: number;
  readonly bytes: number;
}

export const decodeFrameHeader = (header: Uint8Array): PipeFrameHeader => ({
  kind: header[0] ?? 0,
  bytes: new DataView(header.buffer, header.byteOffset, header.byteLength).getUint32(1, true),
});
