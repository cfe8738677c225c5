import { crc32, deflateRawSync } from 'node:zlib';

export interface TestZipEntry {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** Values written to the archive instead of the correct ones. */
  readonly overrides?: { readonly bytes?: number; readonly crc?: number; readonly flags?: number; readonly method?: number };
}

/** Creates a ZIP archive, valid or with wrong values. `count`: number of entries that its end record declares. */
export function createTestZip(entries: readonly TestZipEntry[], { count = entries.length }: { readonly count?: number } = {}): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, content, overrides = {} } of entries) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const nameBytes = Buffer.from(name);
    const header = Buffer.alloc(26);
    header.writeUInt16LE(20, 0);
    header.writeUInt16LE(overrides.flags ?? 0, 2);
    header.writeUInt16LE(overrides.method ?? 8, 4);
    header.writeUInt32LE(overrides.crc ?? crc32(bytes), 10);
    header.writeUInt32LE(packed.length, 14);
    header.writeUInt32LE(overrides.bytes ?? bytes.length, 18);
    header.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), header, nameBytes, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), header, rest, nameBytes]));
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

/** Creates a text document that contains nothing but its body. */
export const createTestDocx = (body: string): Buffer =>
  createTestZip([
    { name: '[Content_Types].xml', content: `<Types><Override PartName="/word/document.xml" ContentType="${TYPE}"/></Types>` },
    { name: 'word/document.xml', content: body },
  ]);
