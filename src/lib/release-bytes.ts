/**
 * Frees the memory of an array immediately if no other array can share its buffer; the array is empty afterwards. The
 * garbage collector is too slow here: it sees a small object instead of 64 KiB, so tens of megabytes would accumulate.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
