import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** What is known of a variable before its bytes are read. */
export interface Ct2Variable {
  readonly shape: readonly number[];
  readonly type: string;
  /** Where its bytes are in the file. */
  readonly offset: number;
  readonly sizeBytes: number;
}

/** A model file of CTranslate2, of which only what is asked for is read. */
export interface Ct2File {
  readonly variables: ReadonlyMap<string, Ct2Variable>;
  /**
   * Rows `from` to `to` of a variable of half floats; all of them where nothing is said.
   * @throws Error where there is no such variable.
   */
  halves(name: string, from?: number, to?: number): Halves;
  /** A single small whole number. */
  whole(name: string): number;
  close(): void;
}

/** A block of 16-bit floats, little endian. */
export interface Halves {
  readonly shape: readonly number[];
  readonly bytes: Buffer;
}

/** The version of the format that is read: a file of another one has other fields. */
const FORMAT = 6;

const TYPES: readonly string[] = ['float32', 'int8', 'int16', 'int32', 'float16'];

/** Far above what a file of this kind has; a damaged count does not make us read for ever. */
const VARIABLES_MAX = 10_000;
const RANK_MAX = 8;

/** @throws Error that says what is wrong with the file. */
export function openCt2File(path: string): Ct2File {
  const file = openSync(path, 'r');
  try {
    const variables = readVariables(file, fstatSync(file).size);
    const find = (name: string, type: string): Ct2Variable => {
      const found = variables.get(name);
      if (found?.type === type) return found;
      throw new Error(`the model file has no ${type} named ${name}`);
    };
    return {
      variables,
      halves(name, from = 0, to) {
        const { shape, offset, sizeBytes } = find(name, 'float16');
        const [rows = 1, ...rest] = shape;
        const rowBytes = sizeBytes / rows;
        const end = to ?? rows;
        return { shape: [end - from, ...rest], bytes: readAt(file, offset + from * rowBytes, (end - from) * rowBytes) };
      },
      whole: (name) => readAt(file, find(name, 'int16').offset, 2).readInt16LE(),
      close: () => closeSync(file),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function readVariables(file: number, sizeBytes: number): ReadonlyMap<string, Ct2Variable> {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > sizeBytes) throw new Error(`the model file ends inside its header, at byte ${at}`);
    const bytes = readAt(file, at, length);
    at += length;
    return bytes;
  };
  const text = (): string => {
    const length = take(2).readUInt16LE();
    // The last byte is a NUL.
    return take(length).toString('utf8', 0, Math.max(0, length - 1));
  };
  const count = (): number => {
    const number = take(4).readUInt32LE();
    if (number <= VARIABLES_MAX) return number;
    throw new Error(`the model file says that it has ${number} variables`);
  };

  const format = take(4).readUInt32LE();
  if (format !== FORMAT) throw new Error(`the model file has format ${format}; this reads ${FORMAT}`);
  text(); // the kind of model
  take(4); // and its revision
  const variables = new Map<string, Ct2Variable>();
  for (let left = count(); left > 0; left--) {
    const name = text();
    const rank = take(1).readUInt8();
    if (rank > RANK_MAX) throw new Error(`the model file says that ${name} has ${rank} dimensions`);
    const dims = take(4 * rank);
    const shape = Array.from({ length: rank }, (_, i) => dims.readUInt32LE(4 * i));
    const type = TYPES[take(1).readUInt8()] ?? 'unknown';
    const bytes = take(4).readUInt32LE();
    if (at + bytes > sizeBytes) throw new Error(`the model file ends inside ${name}`);
    if (type === 'float16' && 2 * shape.reduce((all, dim) => all * dim, 1) !== bytes)
      throw new Error(`the model file has another size of ${name} than its shape says`);
    variables.set(name, { shape, type, offset: at, sizeBytes: bytes });
    at += bytes;
  }
  for (let left = count(); left > 0; left--) {
    const [alias, of] = [text(), variables.get(text())];
    if (of) variables.set(alias, of);
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
