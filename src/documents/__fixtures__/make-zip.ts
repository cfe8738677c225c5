import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** What the archive says, where that is not so. */
  readonly said?: { readonly bytes?: number; readonly crc?: number; readonly flags?: number; readonly method?: number };
}

/** An archive as others make it, or one that lies. `count`: how many files it says it has. */
export function makeZip(entries: readonly ZipEntry[], { count = entries.length }: { readonly count?: number } = {}): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, content, said = {} } of entries) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const nameBytes = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(said.flags ?? 0, 2);
    facts.writeUInt16LE(said.method ?? 8, 4);
    facts.writeUInt32LE(said.crc ?? crc32(bytes), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(said.bytes ?? bytes.length, 18);
    facts.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), facts, nameBytes, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), facts, rest, nameBytes]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Math.min(count, 0xffff), 4);
  end.writeUInt16LE(Math.min(count, 0xffff), 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from('PK\x05\x06', 'latin1'), end]);
}

const TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';

/** A text document with nothing but its body. */
export const makeDocx = (body: string): Buffer =>
  makeZip([
    { name: '[Content_Types].xml', content: `<Types><Override PartName="/word/document.xml" ContentType="${TYPE}"/></Types>` },
    { name: 'word/document.xml', content: body },
  ]);
