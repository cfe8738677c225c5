import { damaged } from '../unreadable.ts';

/** Boxes inside a box that is in memory: ISO/IEC 14496-12, 4.2. */
export interface Box {
  readonly name: string;
  /** Without its head. */
  readonly body: DataView;
}

/** @throws Unreadable where a box is longer than what it stands in. */
export function* boxesIn(body: DataView, from = 0): Generator<Box, void, undefined> {
  for (let at = from; at + 8 <= body.byteLength;) {
    const short = body.getUint32(at);
    const isLong = short === 1 && at + 16 <= body.byteLength;
    const headBytes = isLong ? 16 : 8;
    const size = isLong ? Number(body.getBigUint64(at + 8)) : short === 0 ? body.byteLength - at : short;
    // Some writers end a list of boxes with four bytes of zeros.
    if (size < headBytes) return;
    if (at + size > body.byteLength) throw damaged('has an index that is not whole');
    yield { name: nameAt(body, at + 4), body: part(body, at + headBytes, size - headBytes) };
    at += size;
  }
}

/** The first box on a path of names. */
export function boxAt(body: DataView, ...path: readonly string[]): DataView | undefined {
  let found: DataView | undefined = body;
  for (const wanted of path) {
    if (!found) return undefined;
    const inside: DataView = found;
    found = [...boxesIn(inside)].find(({ name }) => name === wanted)?.body;
  }
  return found;
}

export const part = (view: DataView, from: number, bytes = view.byteLength - from): DataView =>
  new DataView(view.buffer, view.byteOffset + from, bytes);

export const nameAt = (view: DataView, at: number): string =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
