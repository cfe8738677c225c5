import { crc32 } from 'node:zlib';

/** Creates a Python wheel, an uncompressed zip file, from texts by their paths in it. */
export function createTestWheel(name: string, files: Readonly<Record<string, string>>): Buffer {
  const metadataFolder = `${name}-1.0.dist-info`;
  const entries = Object.entries({
    ...files,
    [`${metadataFolder}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${metadataFolder}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${metadataFolder}/RECORD`]: '',
  });
  const localEntries: Buffer[] = [];
  const directoryEntries: Buffer[] = [];
  let offset = 0;
  for (const [path, text] of entries) {
    const [nameBytes, bytes] = [Buffer.from(path), Buffer.from(text)];
    const header = Buffer.alloc(26);
    header.writeUInt16LE(20, 0);
    header.writeUInt32LE(crc32(bytes), 10);
    header.writeUInt32LE(bytes.length, 14);
    header.writeUInt32LE(bytes.length, 18);
    header.writeUInt16LE(nameBytes.length, 22);
    const localEntry = Buffer.concat([Buffer.from('PK\x03\x04'), header, nameBytes, bytes]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directoryEntries.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), header, tail, nameBytes]));
    localEntries.push(localEntry);
    offset += localEntry.length;
  }
  const centralDirectory = Buffer.concat(directoryEntries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(centralDirectory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...localEntries, centralDirectory, end]);
}
