import { createDamagedError } from '../audio-decoding-error.ts';

/** A box in memory (ISO/IEC 14496-12, 4.2). */
export interface Box {
  readonly name: string;
  /** Content without the header. */
  readonly body: DataView;
}

/** Iterates the boxes inside a box. @throws AudioDecodingError if a box is longer than its parent. */
export function* iterateBoxes(body: DataView, from = 0): Generator<Box, void, undefined> {
  for (let at = from; at + 8 <= body.byteLength;) {
    const short = body.getUint32(at);
    const isLong = short === 1 && at + 16 <= body.byteLength;
    const headBytes = isLong ? 16 : 8;
    const size = isLong ? Number(body.getBigUint64(at + 8)) : short === 0 ? body.byteLength - at : short;
    // Some writers end a list of boxes with four zero bytes.
    if (size < headBytes) return;
    if (at + size > body.byteLength) throw createDamagedError('has an incomplete index');
    yield { name: readBoxName(body, at + 4), body: sliceView(body, at + headBytes, size - headBytes) };
    at += size;
  }
}

/** Finds the first box at a path of names. */
export function findBox(body: DataView, ...path: readonly string[]): DataView | undefined {
  let found: DataView | undefined = body;
  for (const segment of path) {
    if (!found) return undefined;
    const inside: DataView = found;
    found = [...iterateBoxes(inside)].find(({ name }) => name === segment)?.body;
  }
  return found;
}

export const sliceView = (view: DataView, from: number, bytes = view.byteLength - from): DataView =>
  new DataView(view.buffer, view.byteOffset + from, bytes);

export const readBoxName = (view: DataView, at: number): string =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
