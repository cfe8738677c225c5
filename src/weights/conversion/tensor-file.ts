import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** A file that holds the weights of a graph, which says where each of them is. */
export interface TensorFile {
  /** As the graph, which lies beside it, calls it. */
  readonly name: string;
  /** Puts a block at the end, piece by piece, and says where it is. */
  add(pieces: Iterable<Uint8Array>): { readonly offset: number; readonly length: number };
  close(): void;
}

/** Blocks begin at multiples of this many bytes, so that the runtime can map them. */
const ALIGNMENT = 64;

export function createTensorFile(
  path: string,
  { name, onBytes }: { readonly name: string; readonly onBytes: (bytes: number) => void },
): TensorFile {
  const file = openSync(path, 'w');
  let end = 0;
  const write = (bytes: Uint8Array): void => {
    for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done, end + done);
    end += bytes.length;
    onBytes(bytes.length);
  };
  return {
    name,
    add(pieces) {
      write(new Uint8Array((ALIGNMENT - (end % ALIGNMENT)) % ALIGNMENT));
      const offset = end;
      for (const piece of pieces) write(piece);
      return { offset, length: end - offset };
    },
    close() {
      fsyncSync(file);
      closeSync(file);
    },
  };
}
