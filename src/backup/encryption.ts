import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { ServiceError } from '../core/error.ts';
import { ENCRYPTED_CHUNK_BYTES, ENCRYPTION_SECRET_BYTES_MAX, ENCRYPTION_SECRET_BYTES_MIN } from './limits.ts';

// Format: docs/decisions/0066-backups.md#encryption

const MAGIC = Buffer.from('PLYBKUP1');
const SALT_BYTES = 32;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = MAGIC.length + SALT_BYTES;

/** Costs of scrypt for new targets: 128 MiB of memory, about half a second. */
const SCRYPT_COST = { N: 2 ** 17, r: 8, p: 1 } as const;
const SCRYPT_MEMORY_BYTES_MAX = 512 * 1024 * 1024;

/** How the key of a target is derived from the operator's secret. Stored in the target. */
export interface EncryptionParameters {
  readonly kdf: 'scrypt';
  readonly N: number;
  readonly r: number;
  readonly p: number;
  /** Hex. */
  readonly salt: string;
  /** Hex; shows whether a secret is the right one. */
  readonly check: string;
}

export interface EncryptionKey {
  readonly parameters: EncryptionParameters;
  readonly master: Buffer;
}

/** Derives the key of a new target. @throws ServiceError `invalid-request` for a secret of a wrong length. */
export async function createEncryptionKey(secret: Buffer): Promise<EncryptionKey> {
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const master = await deriveMaster(secret, { ...SCRYPT_COST, salt });
  return { master, parameters: { kdf: 'scrypt', ...SCRYPT_COST, salt, check: computeCheck(master).toString('hex') } };
}

/** Derives the key of an existing target. @throws ServiceError `invalid-request` if the secret is not that of the target. */
export async function openEncryptionKey(secret: Buffer, parameters: EncryptionParameters): Promise<EncryptionKey> {
  const master = await deriveMaster(secret, parameters);
  const check = Buffer.from(parameters.check, 'hex');
  const computed = computeCheck(master);
  if (check.length !== computed.length || !timingSafeEqual(check, computed))
    throw new ServiceError('invalid-request', 'The passphrase or key file is not that of these backups.');
  return { master, parameters };
}

const computeCheck = (master: Buffer): Buffer => createHmac('sha256', master).update('parley backup check').digest();

function deriveMaster(
  secret: Buffer,
  { N, r, p, salt }: Pick<EncryptionParameters, 'N' | 'r' | 'p' | 'salt'>,
): Promise<Buffer> {
  if (secret.length < ENCRYPTION_SECRET_BYTES_MIN || secret.length > ENCRYPTION_SECRET_BYTES_MAX) {
    throw new ServiceError(
      'invalid-request',
      `The passphrase or key file must have ${ENCRYPTION_SECRET_BYTES_MIN} to ${ENCRYPTION_SECRET_BYTES_MAX} bytes.`,
    );
  }
  const options = { N, r, p, maxmem: SCRYPT_MEMORY_BYTES_MAX };
  return new Promise((resolve, reject) => {
    scrypt(secret, Buffer.from(salt, 'hex'), KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

/** Returns the size of the encrypted object of so many bytes. */
export const getEncryptedBytes = (sizeBytes: number): number =>
  HEADER_BYTES + sizeBytes + TAG_BYTES * Math.max(1, Math.ceil(sizeBytes / ENCRYPTED_CHUNK_BYTES));

const deriveObjectKey = ({ master }: EncryptionKey, salt: Buffer, name: string): Buffer =>
  Buffer.from(hkdfSync('sha256', master, salt, `parley backup object ${name}`, KEY_BYTES));

/** Each object has a key of its own, so counting the chunks never repeats a nonce. The last chunk is marked. */
function createNonce(chunk: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeBigUInt64BE(BigInt(chunk), NONCE_BYTES - 9);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

/** Encrypts an object. Its name is bound to its content, so that objects cannot be exchanged. */
export async function* encryptObject(
  key: EncryptionKey,
  name: string,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(SALT_BYTES);
  const objectKey = deriveObjectKey(key, salt, name);
  yield Buffer.concat([MAGIC, salt]);
  let number = 0;
  for await (const { chunk, isLast } of cutIntoChunks(source, ENCRYPTED_CHUNK_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', objectKey, createNonce(number, isLast));
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
    number += 1;
  }
}

/** Decrypts an object. @throws ServiceError `internal` at the first chunk that was changed, and at a missing end. */
export async function* decryptObject(
  key: EncryptionKey,
  name: string,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let objectKey: Buffer | undefined;
  let number = 0;
  const readHeader = (header: Buffer): void => {
    if (header.length < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(MAGIC)) throw createDamageError(name);
    objectKey = deriveObjectKey(key, header.subarray(MAGIC.length), name);
  };
  for await (const { chunk, isLast } of cutIntoChunks(source, ENCRYPTED_CHUNK_BYTES + TAG_BYTES, {
    headerBytes: HEADER_BYTES,
    onHeader: readHeader,
  })) {
    if (!objectKey || chunk.length < TAG_BYTES) throw createDamageError(name);
    yield decryptChunk(objectKey, createNonce(number, isLast), chunk, name);
    number += 1;
  }
}

function decryptChunk(objectKey: Buffer, nonce: Buffer, chunk: Buffer, name: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', objectKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(chunk.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(chunk.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw createDamageError(name);
  }
}

/** An encrypted object was changed, cut, or exchanged. */
export class DamagedObjectError extends ServiceError {
  constructor(name: string) {
    super('internal', `The object ${name} of the backup is damaged, or was encrypted with another key.`);
  }
}

const createDamageError = (name: string): DamagedObjectError => new DamagedObjectError(name);

interface HeaderReader {
  readonly headerBytes: number;
  readonly onHeader: (header: Buffer) => void;
}

/** Cuts a source into chunks of the same size behind an optional header. The last one may be shorter, or empty. */
async function* cutIntoChunks(
  source: AsyncIterable<Uint8Array>,
  chunkBytes: number,
  { headerBytes, onHeader }: HeaderReader = { headerBytes: 0, onHeader: () => undefined },
): AsyncGenerator<{ readonly chunk: Buffer; readonly isLast: boolean }> {
  let rest: Buffer = Buffer.alloc(0);
  let isHeaderRead = headerBytes === 0;
  for await (const piece of source) {
    rest = Buffer.concat([rest, piece]);
    if (!isHeaderRead && rest.length >= headerBytes) {
      onHeader(rest.subarray(0, headerBytes));
      rest = rest.subarray(headerBytes);
      isHeaderRead = true;
    }
    if (!isHeaderRead) continue;
    // A chunk is passed on once more bytes follow: only then is it certain not to be the last one.
    let at = 0;
    for (; rest.length - at > chunkBytes; at += chunkBytes)
      yield { chunk: rest.subarray(at, at + chunkBytes), isLast: false };
    rest = rest.subarray(at);
  }
  if (!isHeaderRead) onHeader(rest);
  yield { chunk: rest, isLast: true };
}
