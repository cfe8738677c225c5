/** Between the service and the process that decodes: one byte of kind, four of length (lowest first), then so many bytes. */
export const FRAME_HEAD_BYTES = 5;

/** To the process. */
export const ORDER = 0;
export const BYTES = 1;
export const NO_MORE = 2;
/** What follows are bytes from the place that was asked for. */
export const MOVED = 3;

/** From the process. */
export const SOUND = 4;
export const MOVE = 5;
export const ENDED = 6;

/** Ours: bytes of one of them. */
export const FRAME_BYTES_MAX = 4 * 1024 * 1024;

export function frameHead(kind: number, bytes: number): Uint8Array {
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  head[0] = kind;
  new DataView(head.buffer).setUint32(1, bytes, true);
  return head;
}

export interface FrameHead {
  readonly kind: number;
  readonly bytes: number;
}

export const readFrameHead = (head: Uint8Array): FrameHead => ({
  kind: head[0] ?? 0,
  bytes: new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(1, true),
});
