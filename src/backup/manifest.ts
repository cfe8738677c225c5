import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { ServiceError } from '../core/error.ts';

/** Version of the format of targets and manifests. A program refuses a newer one. */
export const BACKUP_FORMAT = 1;

const count = z.number().int().min(0);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Path inside the data folder: a manifest of others must not write elsewhere. */
const dataPath = z.string().refine((path) => path !== '' && !isAbsolute(path) && !path.split(/[\\/]/).includes('..'));

const StoredObject = z.object({
  /** Name of the object in the target. */
  name: z.string(),
  sizeBytes: count,
  /** SHA-256 of the content before encryption; lower-case hex. */
  sha256: hash,
});

const Manifest = z.object({
  format: z.literal(BACKUP_FORMAT),
  id: z.string(),
  /** Time of the database copy, UTC ms: the backup has everything that was acknowledged before its start. */
  createdAt: count,
  finishedAt: count,
  /** Version of the program that made the backup. */
  version: z.string(),
  database: StoredObject.extend({
    /** Kind of database; decides how it is restored. */
    kind: z.enum(['sqlite']),
    /** File of the database, relative to the data folder. */
    path: dataPath,
    migrations: z.array(z.string()),
  }),
  /** Secrets, keys and configuration. */
  files: z.array(StoredObject.extend({ path: dataPath, mode: count })),
  blobs: z.array(StoredObject),
  /** Blobs that were damaged or missing in the service when the backup was made. */
  problems: z.array(z.object({ blob: z.string(), problem: z.string() })),
});

export type BackupObject = Readonly<z.infer<typeof StoredObject>>;
export type BackupManifest = Readonly<z.infer<typeof Manifest>>;

/** A manifest was changed or cut, or a newer version of Parley wrote it. */
export class UnreadableManifestError extends ServiceError {
  constructor(id: string) {
    super(
      'internal',
      `The manifest of backup ${id} is damaged, or of a newer version of Parley. The other backups of the target are usable: name one with --at, as \`parley backup list\` shows them.`,
    );
  }
}

/** @throws UnreadableManifestError. */
export function decodeManifest(text: string, id: string): BackupManifest {
  const parsed = Manifest.safeParse(parseJson(text));
  if (parsed.success && parsed.data.id === id) return parsed.data;
  throw new UnreadableManifestError(id);
}

const Target = z.object({
  format: z.literal(BACKUP_FORMAT),
  encryption: z
    .object({ kdf: z.literal('scrypt'), N: count, r: count, p: count, salt: z.string(), check: z.string() })
    .optional(),
});

/** Describes a target; the first object written to it. */
export type TargetDescription = Readonly<z.infer<typeof Target>>;

/** @throws ServiceError `invalid-request`. */
export function decodeTarget(text: string): TargetDescription {
  const parsed = Target.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new ServiceError(
    'invalid-request',
    'The description of the target is damaged, or of a newer version of Parley.',
    {
      cause: parsed.error,
    },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MANIFEST_PREFIX = 'manifest_';
const DATABASE_PREFIX = 'database_';
const FILE_PREFIX = 'file_';
const DAMAGE_MARK_PREFIX = 'damaged_';

export const getManifestName = (id: string): string => `${MANIFEST_PREFIX}${id}`;
export const getDatabaseName = (id: string): string => `${DATABASE_PREFIX}${id}`;
export const getFileName = (id: string, number: number): string => `${FILE_PREFIX}${id}_${number}`;

/** Whether an object is the database or a file of that backup, which no other backup uses. */
export const isOwnObject = (name: string, id: string): boolean =>
  name === getDatabaseName(id) || name.startsWith(`${FILE_PREFIX}${id}_`);

/** Name of an empty object that marks the object of a blob as damaged, until a backup copies the blob again. */
export const getDamageMarkName = (name: string): string => `${DAMAGE_MARK_PREFIX}${name}`;

/** Returns the ID of the backup whose manifest has that name; undefined for other objects. */
export const getManifestId = (name: string): string | undefined =>
  name.startsWith(MANIFEST_PREFIX) ? name.slice(MANIFEST_PREFIX.length) : undefined;

/** Lists the names of all objects of a backup, without its manifest. */
export const listObjectNames = ({ database, files, blobs }: BackupManifest): readonly string[] => [
  database.name,
  ...files.map(({ name }) => name),
  ...blobs.map(({ name }) => name),
];
