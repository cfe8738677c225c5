import { DatabaseSync } from 'node:sqlite';

/** Rows per query: a query that stays open would keep the log of the database from being reset. */
const PAGE_ROWS = 500;

/** Ms that a query waits for a lock. */
const LOCK_MS_MAX = 10_000;

/** Kind of rows that need a blob. `part`: of an upload in parts. */
const BLOB_KINDS = ['file', 'text', 'audio', 'part'] as const;

export type BlobKind = (typeof BLOB_KINDS)[number];

/** A blob that must exist, because a row refers to it. */
export interface RequiredBlob {
  readonly kind: BlobKind;
  readonly blob: string;
  /** ID of the file, task or upload. */
  readonly subject: string;
  readonly sizeBytes: number;
  readonly md5: string | undefined;
}

/** A stored sum that differs from the rows that it counts. */
export interface WrongTotal {
  /** Table and owner of the sum. */
  readonly subject: string;
  readonly stored: string;
  readonly counted: string;
  /** Statement that corrects the row. */
  readonly correction: string;
}

/** Reads what a check compares, with a read-only connection. Each method throws the error of SQLite for damage. */
export interface CheckReader {
  /** Returns the number and the bytes of all required blobs. */
  countBlobs(): { readonly blobs: number; readonly bytes: number };
  /** Yields the required blobs in pages. Rows that change meanwhile may be missing. */
  listBlobs(): Generator<readonly RequiredBlob[]>;
  /** Returns whether the blob must still exist. */
  isRequired(kind: BlobKind, blob: string): boolean;
  /** Returns whether any row names the blob, also one of an upload that is running. */
  isReferenced(blob: string): boolean;
  findHashes(blob: string): { readonly sizeBytes: number; readonly hashes: Uint8Array } | undefined;
  listWrongTotals(): readonly WrongTotal[];
  close(): void;
}

/** Rows that need a blob, with the columns of `RequiredBlob`. `:now` is the time in UTC ms. */
const QUERIES: Record<BlobKind, string> = {
  file: `select blob, id as subject, bytes, md5 from files where state = 'active'`,
  text: `select texts.text_blob as blob, files.id as subject, texts.bytes as bytes, null as md5
    from texts join files on files.blob = texts.blob where texts.state = 'parsed' and files.state = 'active'`,
  audio: `select source_blob as blob, task_id as subject, source_bytes as bytes, null as md5 from transcription_parts
    where source_blob is not null and source_bytes is not null and state = 'waiting'`,
  part: `select upload_parts.blob as blob, uploads.id as subject, upload_parts.size_bytes as bytes, null as md5
    from upload_parts join uploads on uploads.id = upload_parts.upload_id
    where uploads.status = 'pending' and uploads.expires_at > :now`,
};

const TABLES: Record<BlobKind, string> = {
  file: 'files',
  text: 'texts',
  audio: 'transcription_parts',
  part: 'upload_parts',
};

/** Columns that name blobs. */
const REFERENCES = [
  ['files', 'blob'],
  ['texts', 'text_blob'],
  ['transcription_parts', 'source_blob'],
  ['upload_parts', 'blob'],
] as const;

/** Each row: subject, stored and counted numbers, and the condition that selects the row of the sum. */
const TOTALS = `
  select 'file_totals' as name, totals.region, totals.workspace, null as purpose,
    coalesce(totals.files, 0) as files, coalesce(totals.bytes, 0) as bytes,
    (select count(*) from files where state in ('reserved', 'active') and region = totals.region
      and workspace = totals.workspace) as counted_files,
    (select coalesce(sum(bytes), 0) from files where state in ('reserved', 'active') and region = totals.region
      and workspace = totals.workspace) as counted_bytes
  from (select region, workspace, files, bytes from file_totals union all
    select distinct region, workspace, 0, 0 from files where state in ('reserved', 'active') and not exists
      (select 1 from file_totals where region = files.region and workspace = files.workspace)) as totals
  union all
  select 'file_counts', counts.region, counts.workspace, counts.purpose, counts.files, 0,
    (select count(*) from files where state = 'active' and region = counts.region and workspace = counts.workspace
      and purpose = counts.purpose), 0
  from (select region, workspace, purpose, files from file_counts union all
    select distinct region, workspace, purpose, 0 from files where state = 'active' and not exists
      (select 1 from file_counts where region = files.region and workspace = files.workspace
        and purpose = files.purpose)) as counts`;

/** Opens the reader. Tables that a later version adds may be missing. @throws Error of SQLite. */
export function openCheckReader(file: string, now: number): CheckReader {
  const database = new DatabaseSync(file, { readOnly: true, timeout: LOCK_MS_MAX });
  const tables = new Set(
    database
      .prepare("select name from sqlite_schema where type = 'table'")
      .all()
      .map(({ name }) => String(name)),
  );
  const kinds = BLOB_KINDS.filter((kind) => tables.has(TABLES[kind]));
  const select = (kind: BlobKind, columns: string, end: string): string =>
    `select ${columns} from (${QUERIES[kind]}) ${end}`;
  const bind = (kind: BlobKind) => (kind === 'part' ? { now } : {});
  return {
    countBlobs() {
      let [blobs, bytes] = [0, 0];
      for (const kind of kinds) {
        const query = database.prepare(select(kind, 'count(*) as blobs, coalesce(sum(bytes), 0) as bytes', ''));
        const row = query.get(bind(kind));
        blobs += Number(row?.['blobs']);
        bytes += Number(row?.['bytes']);
      }
      return { blobs, bytes };
    },
    *listBlobs() {
      for (const kind of kinds) {
        const query = database.prepare(select(kind, '*', `where blob > :after order by blob limit ${PAGE_ROWS}`));
        for (let after = ''; ;) {
          const page = query.all({ ...bind(kind), after }).map((row) => ({
            kind,
            blob: String(row['blob']),
            subject: String(row['subject']),
            sizeBytes: Number(row['bytes']),
            md5: row['md5'] === null ? undefined : String(row['md5']),
          }));
          yield page;
          const last = page.at(-1);
          if (!last || page.length < PAGE_ROWS) break;
          after = last.blob;
        }
      }
    },
    isRequired: (kind, blob) =>
      database.prepare(select(kind, '1', 'where blob = :blob')).get({ ...bind(kind), blob }) !== undefined,
    isReferenced: (blob) =>
      REFERENCES.some(
        ([table, column]) =>
          tables.has(table) &&
          database.prepare(`select 1 from ${table} where ${column} = ? limit 1`).get(blob) !== undefined,
      ),
    findHashes(blob) {
      if (!tables.has('blob_hashes')) return undefined;
      const row = database.prepare('select size_bytes, hashes from blob_hashes where blob = ?').get(blob);
      return row && { sizeBytes: Number(row['size_bytes']), hashes: row['hashes'] as Uint8Array };
    },
    listWrongTotals() {
      if (!tables.has('file_totals')) return [];
      const query = `select * from (${TOTALS}) where files <> counted_files or bytes <> counted_bytes limit 100`;
      return database.prepare(query).all().map(describeWrongTotal);
    },
    close: () => database.close(),
  };
}

function describeWrongTotal(row: Readonly<Record<string, unknown>>): WrongTotal {
  const table = String(row['name']);
  const quote = (value: unknown): string => `'${String(value).replaceAll("'", "''")}'`;
  const columns = table === 'file_totals' ? ['files', 'bytes'] : ['files'];
  const owner = table === 'file_totals' ? ['region', 'workspace'] : ['region', 'workspace', 'purpose'];
  const format = (prefix: string): string =>
    columns.map((column) => `${String(row[`${prefix}${column}`])} ${column}`).join(', ');
  const values = [...owner.map((column) => quote(row[column])), ...columns.map((column) => row[`counted_${column}`])];
  return {
    subject: `${table} of ${owner.map((column) => String(row[column])).join('/')}`,
    stored: format(''),
    counted: format('counted_'),
    correction: `insert or replace into ${table} (${[...owner, ...columns].join(', ')}) values (${values.join(', ')})`,
  };
}
