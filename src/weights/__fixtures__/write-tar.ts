/** An entry of an archive, as its test wants it. */
export interface WrittenEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** Default: a plain file. */
  readonly type?: string;
  /** What its header says; default: the truth. */
  readonly size?: string;
  readonly prefix?: string;
  /** Default: the right one. */
  readonly checksum?: number;
}

/** A tar archive; with `end` false it breaks off after its last entry. */
export function writeTar(entries: readonly WrittenEntry[], { end = true }: { readonly end?: boolean } = {}): Buffer {
  const blocks = entries.flatMap(({ content = '', ...entry }) => {
    const body = Buffer.from(content);
    return [headerOf(entry, body.length), body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(end ? 1024 : 0)]);
}

function headerOf({ path, type = '0', size, prefix = '', checksum }: WrittenEntry, bytes: number): Buffer {
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
