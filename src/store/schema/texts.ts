/** Migration 0006. What is read out of a file: a row beside that of its file, from the first moment to the last. */
export interface TextsTable {
  /** Of the file: the name of its bytes. */
  blob: string;
  state: 'waiting' | 'parsed' | 'failed';
  /** Of what failed, for its owner. */
  reason: string | null;
  /** What it was read as. */
  kind: string | null;
  /** UTF-16 units, and bytes of UTF-8. */
  chars: number | null;
  bytes: number | null;
  /** Name of the text in the blob store: written here before there is one, so that none is forgotten. */
  text_blob: string | null;
  /** UTC milliseconds. */
  changed_at: number;
}
