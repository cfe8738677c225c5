/**
 * Gives the memory of a piece back now, if it has one of its own. The collector is in no hurry: it sees a small object where
 * there are 64 KiB, and lets tens of megabytes of them gather. From then on the piece is empty.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
