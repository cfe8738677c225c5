/** Before the head: its length, four bytes, the lowest first. */
const LENGTH_BYTES = 4;

/** A head in JSON and numbers behind it, as they are in memory: half a minute of speech in JSON would be 10 MB. */
export function packCall(head: unknown, ...floats: readonly Float32Array[]): Uint8Array {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(json.length);
  return Buffer.concat([
    length,
    json,
    ...floats.map((each) => new Uint8Array(each.buffer, each.byteOffset, each.byteLength)),
  ]);
}

/** @throws RangeError where the bytes are not of that form. */
export function unpackCall(bytes: Uint8Array): { readonly head: unknown; readonly floats: Float32Array } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const jsonLength = view.length < LENGTH_BYTES ? Infinity : view.readUInt32LE(0);
  const rest = view.length - LENGTH_BYTES - jsonLength;
  if (!(rest >= 0) || rest % Float32Array.BYTES_PER_ELEMENT !== 0)
    throw new RangeError('the call is not a length, a head of that length and numbers of four bytes');
  const head: unknown = JSON.parse(view.toString('utf8', LENGTH_BYTES, LENGTH_BYTES + jsonLength));
  // A copy: floats must lie at a multiple of their size.
  const floats = new Float32Array(Uint8Array.from(view.subarray(LENGTH_BYTES + jsonLength)).buffer);
  return { head, floats };
}
