/** An entry of a test archive. */
export interface TestTarEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** Entry type. Default: a plain file. */
  readonly type?: string;
  /** Size field of the header. Default: the real size. */
  readonly size?: string;
  readonly prefix?: string;
  /** Checksum field of the header. Default: the correct checksum. */
  readonly checksum?: number;
}

/** Creates a tar archive; without `end` it lacks the zero blocks at the end. */
export function writeTar(entries: readonly TestTarEntry[], { end = true }: { readonly end?: boolean } = {}): Buffer {
  const blocks = entries.flatMap(({ content = '', ...entry }) => {
    const body = Buffer.from(content);
    return [createHeader(entry, body.length), body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(end ? 1024 : 0)]);
}

function createHeader({ path, type = '0', size, prefix = '', checksum }: TestTarEntry, bytes: number): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0, 100);
  header.write('0000644\0', 100);
  header.write(size ?? `${bytes.toString(8).padStart(11, '0')}\0`, 124, 12);
  header.write(type, 156, 1);
  header.write('ustar\u000000', 257);
  header.write(prefix, 345, 155);
  header.fill(' ', 148, 156);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${(checksum ?? sum).toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
