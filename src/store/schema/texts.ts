/** Created by migration 0006: extracted text of a file. The row exists as long as the row of its file. */
export interface TextsTable {
  /** Blob name of the file. */
  blob: string;
  state: 'waiting' | 'parsed' | 'failed';
  /** Why extraction failed; shown to the owner of the file. */
  reason: string | null;
  /** Detected document type. */
  kind: string | null;
  /** Length in UTF-16 code units; `bytes` is the length in UTF-8. */
  chars: number | null;
  bytes: number | null;
  /** Blob name of the text. Recorded before the blob is written, so that cleanup finds an unfinished blob. */
  text_blob: string | null;
  /** UTC milliseconds. */
  changed_at: number;
}
