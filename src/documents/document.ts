/** What a document was read as. */
export type DocumentKind = 'text' | 'markdown' | 'csv' | 'json' | 'html' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'epub';

/** What came of reading a document: its text, or why there is none. */
export type Extracted =
  | {
      readonly type: 'text';
      readonly kind: DocumentKind;
      /** UTF-8, well-formed, with `\n` at the end of lines. */
      readonly text: Uint8Array;
      /** UTF-16 units of it, as JavaScript counts. */
      readonly chars: number;
    }
  | { readonly type: 'failed'; readonly reason: string };

/** Ours: how many times as long as it works a document may take on a machine that is busy otherwise. */
export const WAIT_FACTOR = 5;

/** How much reading one document may take. Beyond each: it has failed. */
export interface ReadingLimits {
  readonly sourceBytesMax: number;
  readonly textBytesMax: number;
  /** Of the processor; WAIT_FACTOR times as much by the clock. */
  readonly msMax: number;
  readonly heapMb: number;
  readonly residentBytesMax: number;
}
