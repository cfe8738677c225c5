import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** File that stores the weights of a graph. The graph records the position of each. */
export interface TensorFile {
  /** File name under which the graph refers to it. */
  readonly name: string;
  /** Appends a block and returns its position. */
  add(pieces: Iterable<Uint8Array>): { readonly offset: number; readonly length: number };
  close(): void;
}

/** Blocks start at multiples of this number of bytes, so that the runtime can memory-map them. */
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
