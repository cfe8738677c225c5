import type { Kysely, Selectable } from 'kysely';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { TextsTable } from './schema/texts.ts';

/** What is known of the text of a file. */
export type TextRecord =
  | { readonly state: 'waiting' }
  | { readonly state: 'failed'; readonly reason: string }
  | {
      readonly state: 'parsed';
      /** What the file was read as. */
      readonly kind: string;
      /** UTF-16 units. */
      readonly chars: number;
      /** Of UTF-8. */
      readonly bytes: number;
      /** Name of it in the blob store. */
      readonly textBlob: string;
    };

export interface ParsedText {
  readonly kind: string;
  readonly chars: number;
  readonly bytes: number;
  readonly at: number;
}

/** Each is about the text of a file, which is named by the file's blob. */
export interface TextStore {
  /** In the transaction in which the file becomes one. */
  insert(blob: string, at: number): Promise<void>;
  /** Those among them that have one. */
  find(blobs: readonly string[]): Promise<ReadonlyMap<string, TextRecord>>;
  /**
   * Says where the text is going to be, before it is written. @returns where an earlier attempt was to write it, if there
   * was one; undefined where the file is not there any more, or its text is not waited for.
   */
  begin(
    blob: string,
    wish: { textBlob: string; at: number },
  ): Promise<{ readonly earlier: string | undefined } | undefined>;
  /** False where it is not awaited from there any more. */
  parse(blob: string, wish: ParsedText & { readonly textBlob: string }): Promise<boolean>;
  /** The last word where none was said; its half written text is where the result says. */
  fail(blob: string, wish: { reason: string; at: number }): Promise<void>;
  /** Where its text is or was to be; for whoever removes the file. */
  textBlobOf(blob: string): Promise<string | undefined>;
  /** With the row of the file. */
  remove(blob: string): Promise<void>;
  /** Of these names of texts those that a row has. */
  known(textBlobs: readonly string[]): Promise<ReadonlySet<string>>;
}

export function createTextStore(db: Kysely<Database>, run: Run): TextStore {
  const waiting = (blob: string) => db.updateTable('texts').where('blob', '=', blob).where('state', '=', 'waiting');
  const textBlobOf = async (blob: string): Promise<string | undefined> => {
    const row = await db.selectFrom('texts').select('text_blob').where('blob', '=', blob).executeTakeFirst();
    return row?.text_blob ?? undefined;
  };

  return {
    insert: (blob, at) =>
      run(async () => {
        await db.insertInto('texts').values({ blob, state: 'waiting', changed_at: at }).execute();
      }),
    find: (blobs) =>
      run(async () => {
        if (blobs.length === 0) return new Map();
        const rows = await db
          .selectFrom('texts')
          .selectAll()
          .where('blob', 'in', [...blobs])
          .execute();
        return new Map(rows.map((row) => [row.blob, decode(row)]));
      }),
    begin: (blob, { textBlob, at }) =>
      run(async () => {
        const earlier = await textBlobOf(blob);
        const row = await waiting(blob)
          .set({ text_blob: textBlob, changed_at: at })
          .where(({ exists, selectFrom }) =>
            exists(selectFrom('files').select('blob').where('blob', '=', blob).where('state', '=', 'active')),
          )
          .returning('blob')
          .executeTakeFirst();
        return row && { earlier };
      }),
    parse: (blob, { textBlob, kind, chars, bytes, at }) =>
      run(async () => {
        const row = await waiting(blob)
          .set({ state: 'parsed', kind, chars, bytes, changed_at: at })
          .where('text_blob', '=', textBlob)
          .where(({ exists, selectFrom }) =>
            exists(selectFrom('files').select('blob').where('blob', '=', blob).where('state', '=', 'active')),
          )
          .returning('blob')
          .executeTakeFirst();
        return row !== undefined;
      }),
    fail: (blob, { reason, at }) =>
      run(async () => {
        await waiting(blob).set({ state: 'failed', reason, changed_at: at }).execute();
      }),
    textBlobOf: (blob) => run(() => textBlobOf(blob)),
    remove: (blob) =>
      run(async () => {
        await db.deleteFrom('texts').where('blob', '=', blob).execute();
      }),
    known: (textBlobs) =>
      run(async () => {
        if (textBlobs.length === 0) return new Set();
        const rows = await db
          .selectFrom('texts')
          .select('text_blob')
          .where('text_blob', 'in', [...textBlobs])
          .execute();
        return new Set(rows.flatMap((row) => row.text_blob ?? []));
      }),
  };
}

function decode({ state, reason, kind, chars, bytes, text_blob: textBlob }: Selectable<TextsTable>): TextRecord {
  if (state === 'failed') return { state, reason: reason ?? '' };
  if (state !== 'parsed' || kind === null || chars === null || bytes === null || textBlob === null)
    return { state: 'waiting' };
  return { state, kind, chars, bytes, textBlob };
}
