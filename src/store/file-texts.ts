import type { Kysely, Selectable } from 'kysely';
import { hasRow } from './row-queries.ts';
import type { Database } from './schema/database.ts';
import type { TextsTable } from './schema/texts.ts';

/** State of the text extraction of a file. */
export type FileTextRecord =
  | { readonly state: 'waiting' }
  | { readonly state: 'failed'; readonly reason: string }
  | {
      readonly state: 'parsed';
      /** Detected document type. */
      readonly kind: string;
      /** Length in UTF-16 code units. */
      readonly chars: number;
      /** Length in UTF-8. */
      readonly bytes: number;
      /** Name of the text in the blob store. */
      readonly textBlob: string;
    };

export interface ParsedText {
  readonly kind: string;
  readonly chars: number;
  readonly bytes: number;
  readonly at: number;
}

/** Extracted texts of files; `blob` names the file. */
export interface FileTextStore {
  /** Inserts the row, in the transaction that activates the file. */
  insert(blob: string, at: number): Promise<void>;
  /** Returns the state of those files that have text extraction. */
  find(blobs: readonly string[]): Promise<ReadonlyMap<string, FileTextRecord>>;
  /**
   * Records the blob name of the text before the blob is written.
   * @returns the blob name recorded by an earlier attempt, if any; undefined if the file is gone or not waiting for its
   * text.
   */
  startParsing(
    blob: string,
    options: { textBlob: string; at: number },
  ): Promise<{ readonly previousTextBlob: string | undefined } | undefined>;
  /** Marks the text as parsed; false if the text is no longer expected in `textBlob`. */
  completeParsing(blob: string, options: ParsedText & { readonly textBlob: string }): Promise<boolean>;
  /** Marks waiting text as failed; `text_blob` still names a partly written blob. */
  failParsing(blob: string, options: { reason: string; at: number }): Promise<void>;
  /** Returns the blob name recorded for the text, for removal with the file. */
  findTextBlob(blob: string): Promise<string | undefined>;
  /** Removes the row, together with that of the file. */
  remove(blob: string): Promise<void>;
  /** Returns those of the blob names that a row records. */
  filterReferenced(textBlobs: readonly string[]): Promise<ReadonlySet<string>>;
}

export function createFileTextStore(db: Kysely<Database>): FileTextStore {
  const updateWaiting = (blob: string) =>
    db.updateTable('texts').where('blob', '=', blob).where('state', '=', 'waiting');
  const findTextBlob = async (blob: string): Promise<string | undefined> => {
    const row = await db.selectFrom('texts').select('text_blob').where('blob', '=', blob).executeTakeFirst();
    return row?.text_blob ?? undefined;
  };

  return {
    async insert(blob, at) {
      await db.insertInto('texts').values({ blob, state: 'waiting', changed_at: at }).execute();
    },
    async find(blobs) {
      if (blobs.length === 0) return new Map();
      const rows = await db
        .selectFrom('texts')
        .selectAll()
        .where('blob', 'in', [...blobs])
        .execute();
      return new Map(rows.map((row) => [row.blob, decode(row)]));
    },
    async startParsing(blob, { textBlob, at }) {
      const previousTextBlob = await findTextBlob(blob);
      const row = await updateWaiting(blob)
        .set({ text_blob: textBlob, changed_at: at })
        .where(({ exists, selectFrom }) =>
          exists(selectFrom('files').select('blob').where('blob', '=', blob).where('state', '=', 'active')),
        )
        .returning('blob')
        .executeTakeFirst();
      return row && { previousTextBlob };
    },
    async completeParsing(blob, { textBlob, kind, chars, bytes, at }) {
      return hasRow(
        updateWaiting(blob)
          .set({ state: 'parsed', kind, chars, bytes, changed_at: at })
          .where('text_blob', '=', textBlob)
          .where(({ exists, selectFrom }) =>
            exists(selectFrom('files').select('blob').where('blob', '=', blob).where('state', '=', 'active')),
          )
          .returning('blob'),
      );
    },
    async failParsing(blob, { reason, at }) {
      await updateWaiting(blob).set({ state: 'failed', reason, changed_at: at }).execute();
    },
    findTextBlob,
    async remove(blob) {
      await db.deleteFrom('texts').where('blob', '=', blob).execute();
    },
    async filterReferenced(textBlobs) {
      if (textBlobs.length === 0) return new Set();
      const rows = await db
        .selectFrom('texts')
        .select('text_blob')
        .where('text_blob', 'in', [...textBlobs])
        .execute();
      return new Set(rows.flatMap((row) => row.text_blob ?? []));
    },
  };
}

function decode({ state, reason, kind, chars, bytes, text_blob: textBlob }: Selectable<TextsTable>): FileTextRecord {
  if (state === 'failed') return { state, reason: reason ?? '' };
  if (state !== 'parsed' || kind === null || chars === null || bytes === null || textBlob === null)
    return { state: 'waiting' };
  return { state, kind, chars, bytes, textBlob };
}
