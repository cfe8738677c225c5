import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Header entry of a variable. */
export interface Ct2Variable {
  readonly shape: readonly number[];
  readonly type: string;
  /** Position of its bytes in the file. */
  readonly offset: number;
  readonly sizeBytes: number;
}

/** An open CTranslate2 model file. Reads only the variables that are requested. */
export interface Ct2File {
  readonly variables: ReadonlyMap<string, Ct2Variable>;
  /**
   * Reads rows `from` (inclusive) to `to` (exclusive) of a variable of 16-bit floats. Default: all rows.
   * @throws Error when the variable does not exist.
   */
  readHalfFloats(name: string, from?: number, to?: number): HalfFloatBlock;
  /** Reads a single 16-bit integer. */
  readInteger(name: string): number;
  close(): void;
}

/** A block of 16-bit floats, little endian. */
export interface HalfFloatBlock {
  readonly shape: readonly number[];
  readonly bytes: Buffer;
}

/** Version of the file format that is supported. Files of other versions have other fields. */
const FORMAT_VERSION = 6;

const TYPES: readonly string[] = ['float32', 'int8', 'int16', 'int32', 'float16'];

/** Far above the count in any Whisper model, so that a damaged count does not cause an endless read. */
const VARIABLES_MAX = 10_000;
const RANK_MAX = 8;

/** Opens a model file and reads its header. @throws Error that says what is wrong with the file. */
export function openCt2File(path: string): Ct2File {
  const file = openSync(path, 'r');
  try {
    const variables = readVariables(file, fstatSync(file).size);
    const find = (name: string, type: string): Ct2Variable => {
      const found = variables.get(name);
      if (found?.type === type) return found;
      throw new Error(`the model file has no ${type} variable named ${name}`);
    };
    return {
      variables,
      readHalfFloats(name, from = 0, to) {
        const { shape, offset, sizeBytes } = find(name, 'float16');
        const [rows = 1, ...rest] = shape;
        const rowBytes = sizeBytes / rows;
        const end = to ?? rows;
        return { shape: [end - from, ...rest], bytes: readAt(file, offset + from * rowBytes, (end - from) * rowBytes) };
      },
      readInteger: (name) => readAt(file, find(name, 'int16').offset, 2).readInt16LE(),
      close: () => closeSync(file),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function readVariables(file: number, sizeBytes: number): ReadonlyMap<string, Ct2Variable> {
  let position = 0;
  const readBytes = (length: number): Buffer => {
    if (position + length > sizeBytes) throw new Error(`the model file ends inside its header, at byte ${position}`);
    const bytes = readAt(file, position, length);
    position += length;
    return bytes;
  };
  const readText = (): string => {
    const length = readBytes(2).readUInt16LE();
    // The last byte is a NUL.
    return readBytes(length).toString('utf8', 0, Math.max(0, length - 1));
  };
  const readCount = (): number => {
    const number = readBytes(4).readUInt32LE();
    if (number <= VARIABLES_MAX) return number;
    throw new Error(`the model file states ${number} variables; at most ${VARIABLES_MAX} are allowed`);
  };

  const format = readBytes(4).readUInt32LE();
  if (format !== FORMAT_VERSION)
    throw new Error(`the model file has format version ${format}; only ${FORMAT_VERSION} is supported`);
  readText(); // the kind of model
  readBytes(4); // and its revision
  const variables = new Map<string, Ct2Variable>();
  for (let remaining = readCount(); remaining > 0; remaining--) {
    const name = readText();
    const rank = readBytes(1).readUInt8();
    if (rank > RANK_MAX)
      throw new Error(`the model file states ${rank} dimensions for ${name}; at most ${RANK_MAX} are allowed`);
    const dims = readBytes(4 * rank);
    const shape = Array.from({ length: rank }, (_, i) => dims.readUInt32LE(4 * i));
    const type = TYPES[readBytes(1).readUInt8()] ?? 'unknown';
    const bytes = readBytes(4).readUInt32LE();
    if (position + bytes > sizeBytes) throw new Error(`the model file ends inside ${name}`);
    if (type === 'float16' && 2 * shape.reduce((all, dim) => all * dim, 1) !== bytes)
      throw new Error(`the size of ${name} in the model file does not match its shape`);
    variables.set(name, { shape, type, offset: position, sizeBytes: bytes });
    position += bytes;
  }
  for (let remaining = readCount(); remaining > 0; remaining--) {
    const [alias, variable] = [readText(), variables.get(readText())];
    if (variable) variables.set(alias, variable);
  }
  return variables;
}

function readAt(file: number, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let done = 0; done < length;) {
    const read = readSync(file, bytes, done, length - done, offset + done);
    if (read === 0) throw new Error(`the model file ends at byte ${offset + done}`);
    done += read;
  }
  return bytes;
}
