/** Format of a document. */
export type DocumentKind = 'text' | 'markdown' | 'csv' | 'json' | 'html' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'epub';

/** The text of a document, or the reason why there is none. */
export type ExtractionResult =
  | {
      readonly type: 'text';
      readonly kind: DocumentKind;
      /** Well-formed UTF-8 with `\n` line ends. */
      readonly text: Uint8Array;
      /** Length in UTF-16 units, as JavaScript counts. */
      readonly chars: number;
    }
  | { readonly type: 'failed'; readonly reason: string };

/** Chosen: wall-clock limit as a multiple of the CPU limit, for a busy machine. */
export const WALL_CLOCK_FACTOR = 5;

/** Limits of the extraction of one document. Beyond any of them, the extraction fails. */
export interface ExtractionLimits {
  readonly sourceBytesMax: number;
  readonly textBytesMax: number;
  /** CPU time in ms. The wall-clock limit is WALL_CLOCK_FACTOR times as long. */
  readonly cpuMsMax: number;
  readonly heapMb: number;
  readonly residentBytesMax: number;
}

export const describeExcessiveSize = (sizeBytes: number, bytesMax: number): string =>
  `The file has ${sizeBytes} bytes; text is extracted from files of at most ${bytesMax} bytes.`;
