/** Length of the prefix that states the header's length: a little-endian 32-bit integer. */
const HEADER_LENGTH_BYTES = 4;

/** Encodes a JSON header followed by raw floats. As JSON, 30 s of speech would need 10 MB. */
export function encodeBinaryCall(header: unknown, ...floats: readonly Float32Array[]): Uint8Array {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(HEADER_LENGTH_BYTES);
  length.writeUInt32LE(json.length);
  return Buffer.concat([
    length,
    json,
    ...floats.map((each) => new Uint8Array(each.buffer, each.byteOffset, each.byteLength)),
  ]);
}

/**
 * Decodes the result of `encodeBinaryCall`.
 * @throws RangeError if the bytes have another format.
 */
export function decodeBinaryCall(bytes: Uint8Array): { readonly header: unknown; readonly floats: Float32Array } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const jsonLength = view.length < HEADER_LENGTH_BYTES ? Infinity : view.readUInt32LE(0);
  const rest = view.length - HEADER_LENGTH_BYTES - jsonLength;
  if (!(rest >= 0) || rest % Float32Array.BYTES_PER_ELEMENT !== 0)
    throw new RangeError('the call must consist of the header length, a header of that length, and 32-bit floats');
  const header: unknown = JSON.parse(view.toString('utf8', HEADER_LENGTH_BYTES, HEADER_LENGTH_BYTES + jsonLength));
  // Copy the bytes: a Float32Array must start at a multiple of its element size.
  const floats = new Float32Array(Uint8Array.from(view.subarray(HEADER_LENGTH_BYTES + jsonLength)).buffer);
  return { header, floats };
}
