import type { BlobStore } from '../blobs/blob-store.ts';
import { ServiceError } from '../core/error.ts';
import {
  createEncryptionKey,
  DamagedObjectError,
  decryptObject,
  encryptObject,
  getEncryptedBytes,
  openEncryptionKey,
  type EncryptionKey,
} from './encryption.ts';
import { hashStream, type StreamHash } from './hash-stream.ts';
import {
  BACKUP_FORMAT,
  decodeManifest,
  decodeTarget,
  getManifestId,
  getManifestName,
  UnreadableManifestError,
  type BackupManifest,
  type TargetDescription,
} from './manifest.ts';

const DESCRIPTION_NAME = 'parley-backups';

/** Objects of backups, encrypted if the target is. */
export interface BackupTarget {
  readonly isEncrypted: boolean;
  /** Writes an object: completely or not at all. An existing object is replaced. */
  write(name: string, source: AsyncIterable<Uint8Array>, options?: TransferOptions): Promise<StreamHash>;
  /** Reads an object. @throws ServiceError `file-not-found`; `internal` if an encrypted object was changed. */
  read(name: string): Promise<AsyncIterable<Uint8Array>>;
  /** Lists the stored objects by name, with their stored size. */
  listObjects(): Promise<ReadonlyMap<string, number>>;
  /** Returns the stored size of an object of so many bytes. */
  getStoredBytes(sizeBytes: number): number;
  remove(name: string): Promise<void>;
  /** Removes what interrupted backups that started before `before` (UTC ms) have left. */
  removeStaleUploads(before: number): Promise<void>;
  /** @throws UnreadableManifestError. */
  readManifest(id: string): Promise<BackupManifest>;
  writeManifest(manifest: BackupManifest): Promise<void>;
  close(): Promise<void>;
}

export interface TransferOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes of each piece. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

interface OpenTargetOptions {
  readonly blobs: BlobStore;
  /** Names the target in errors. */
  readonly label: string;
  /** Passphrase, or content of a key file. */
  readonly secret: Buffer | undefined;
}

/**
 * Opens a target, and prepares an empty one. The first backup decides whether a target is encrypted.
 * @throws ServiceError `invalid-request` if the target has other content, or the secret is missing, wrong or unneeded.
 */
export async function openBackupTarget(options: OpenTargetOptions): Promise<BackupTarget> {
  const description = await readDescription(options);
  if (description) return createTarget(options.blobs, await openKey(description, options.secret));
  for await (const { name } of options.blobs.list()) throw createOtherContentError(options.label, name);
  const key = options.secret && (await createEncryptionKey(options.secret));
  const text = JSON.stringify({ format: BACKUP_FORMAT, ...(key && { encryption: key.parameters }) });
  await options.blobs.put(DESCRIPTION_NAME, toStream(text));
  return createTarget(options.blobs, key);
}

/** Opens a target that has backups. @throws ServiceError `invalid-request`, as `openBackupTarget`. */
export async function openExistingTarget(options: OpenTargetOptions): Promise<BackupTarget> {
  const description = await readDescription(options);
  if (!description) throw new ServiceError('invalid-request', `There are no backups in ${options.label}.`);
  return createTarget(options.blobs, await openKey(description, options.secret));
}

async function readDescription({ blobs }: OpenTargetOptions): Promise<TargetDescription | undefined> {
  try {
    return decodeTarget(await readText(await blobs.read(DESCRIPTION_NAME)));
  } catch (thrown) {
    if (ServiceError.from(thrown).kind === 'file-not-found') return undefined;
    throw thrown;
  }
}

async function openKey(
  { encryption }: TargetDescription,
  secret: Buffer | undefined,
): Promise<EncryptionKey | undefined> {
  if (encryption && !secret)
    throw new ServiceError(
      'invalid-request',
      'These backups are encrypted. Pass their passphrase or key file: --encrypt-with FILE to make a backup, --decrypt-with FILE to read one.',
    );
  if (!encryption && secret)
    throw new ServiceError(
      'invalid-request',
      'These backups are not encrypted. Use another target for encrypted ones.',
    );
  return encryption && secret ? await openEncryptionKey(secret, encryption) : undefined;
}

const createOtherContentError = (label: string, name: string): ServiceError =>
  new ServiceError(
    'invalid-request',
    `${label} is not empty and has no backups of Parley (it contains ${name}). Name an empty target.`,
  );

function createTarget(blobs: BlobStore, key: EncryptionKey | undefined): BackupTarget {
  const read: BackupTarget['read'] = async (name) => {
    const source = await blobs.read(name);
    return key ? decryptObject(key, name, source) : source;
  };
  const write: BackupTarget['write'] = async (name, source, { signal, onBytes } = {}) => {
    const { stream, getHash } = hashStream(source, onBytes);
    await blobs.put(name, key ? encryptObject(key, name, stream) : stream, { signal });
    return getHash();
  };
  return {
    isEncrypted: key !== undefined,
    read,
    write,
    async listObjects() {
      const objects = new Map<string, number>();
      for await (const { name, sizeBytes } of blobs.list()) if (name !== DESCRIPTION_NAME) objects.set(name, sizeBytes);
      return objects;
    },
    getStoredBytes: (sizeBytes) => (key ? getEncryptedBytes(sizeBytes) : sizeBytes),
    remove: (name) => blobs.delete(name),
    removeStaleUploads: async (before) => void (await blobs.removeStaleUploads(before)),
    async readManifest(id) {
      try {
        return decodeManifest(await readText(await read(getManifestName(id))), id);
      } catch (thrown) {
        throw thrown instanceof DamagedObjectError ? new UnreadableManifestError(id) : thrown;
      }
    },
    async writeManifest(manifest) {
      await write(getManifestName(manifest.id), toStream(JSON.stringify(manifest)));
    },
    close: () => blobs.close(),
  };
}

/** Lists the IDs of complete backups among the objects of a target, newest first. */
export const listBackupIds = (objects: ReadonlyMap<string, number>): readonly string[] =>
  [...objects.keys()]
    .flatMap((name) => getManifestId(name) ?? [])
    .toSorted()
    .toReversed();

/** Reads a manifest. @returns undefined for one that is damaged, or of a newer version of Parley. */
export async function tryReadManifest(target: BackupTarget, id: string): Promise<BackupManifest | undefined> {
  try {
    return await target.readManifest(id);
  } catch (thrown) {
    if (thrown instanceof UnreadableManifestError) return undefined;
    throw thrown;
  }
}

async function* toStream(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function readText(source: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}
