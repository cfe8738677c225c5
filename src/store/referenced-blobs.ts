import type { Kysely } from 'kysely';
import type { Database } from './schema/database.ts';

/** A blob that rows of the database refer to. */
export interface ReferencedBlob {
  readonly name: string;
  /** Undefined where no row records it. */
  readonly sizeBytes: number | undefined;
  /** Lower-case hex. Undefined where no row records it. */
  readonly md5: string | undefined;
  /** False for a blob that the service downloads or makes again. */
  readonly isRequired: boolean;
}

/** Migrations that create the tables read here: an older database has fewer of them. */
const FILES_MIGRATION = '0003-files';
const TEXTS_MIGRATION = '0006-texts';
const TASKS_MIGRATION = '0010-tasks';
const UPLOADS_MIGRATION = '0013-uploads';

/**
 * Lists the blobs that a copy of the database needs: those of files, of their extracted texts, of received parts of
 * pending uploads, and downloaded audio that is not transcribed yet. Other blobs are garbage, or are still being written.
 * @param migrations Names of the migrations that the database has.
 */
export async function listReferencedBlobs(
  db: Kysely<Database>,
  migrations: ReadonlySet<string>,
): Promise<readonly ReferencedBlob[]> {
  const lists = [
    migrations.has(FILES_MIGRATION) ? await listFiles(db) : [],
    migrations.has(TEXTS_MIGRATION) ? await listTexts(db) : [],
    migrations.has(UPLOADS_MIGRATION) ? await listUploadParts(db) : [],
    migrations.has(TASKS_MIGRATION) ? await listAudio(db) : [],
  ];
  return [...new Map(lists.flat().map((blob) => [blob.name, blob])).values()];
}

async function listFiles(db: Kysely<Database>): Promise<readonly ReferencedBlob[]> {
  const rows = await db.selectFrom('files').select(['blob', 'bytes', 'md5']).where('state', '=', 'active').execute();
  return rows.map(({ blob, bytes, md5 }) => ({
    name: blob,
    sizeBytes: bytes,
    md5: md5 ?? undefined,
    isRequired: true,
  }));
}

async function listTexts(db: Kysely<Database>): Promise<readonly ReferencedBlob[]> {
  const rows = await db
    .selectFrom('texts')
    .innerJoin('files', 'files.blob', 'texts.blob')
    .select(['texts.text_blob', 'texts.bytes'])
    .where('texts.state', '=', 'parsed')
    .where('files.state', '=', 'active')
    .execute();
  return rows.flatMap(({ text_blob: name, bytes }) =>
    name === null ? [] : [{ name, sizeBytes: bytes ?? undefined, md5: undefined, isRequired: true }],
  );
}

async function listUploadParts(db: Kysely<Database>): Promise<readonly ReferencedBlob[]> {
  const rows = await db
    .selectFrom('upload_parts')
    .innerJoin('uploads', 'uploads.id', 'upload_parts.upload_id')
    .innerJoin('files', 'files.blob', 'upload_parts.blob')
    .select(['upload_parts.blob', 'upload_parts.size_bytes'])
    .where('uploads.status', '=', 'pending')
    .where('files.state', '=', 'reserved')
    .execute();
  return rows.map(({ blob, size_bytes }) => ({ name: blob, sizeBytes: size_bytes, md5: undefined, isRequired: true }));
}

async function listAudio(db: Kysely<Database>): Promise<readonly ReferencedBlob[]> {
  const rows = await db
    .selectFrom('transcription_parts')
    .select(['source_blob', 'source_bytes'])
    .where('state', '=', 'waiting')
    .where('source_bytes', 'is not', null)
    .execute();
  return rows.flatMap(({ source_blob: name, source_bytes: sizeBytes }) =>
    name === null ? [] : [{ name, sizeBytes: sizeBytes ?? undefined, md5: undefined, isRequired: false }],
  );
}
