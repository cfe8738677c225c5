import type { PageReading } from './read-markup.ts';

/** What the threads that read are told. */
export type PageTask =
  | {
      readonly type: 'page';
      readonly kind: 'html' | 'text' | 'markdown';
      readonly bytes: Uint8Array;
      /** As the server wrote it. */
      readonly contentType: string;
      readonly url: string;
      readonly charsMax: number;
    }
  | {
      readonly type: 'rules';
      /** Where they are, and what they are. */
      readonly rulesUrl: string;
      readonly rules: string;
      readonly url: string;
      readonly agent: string;
    };

export type PageAnswer =
  | { readonly type: 'reading'; readonly reading: PageReading }
  | { readonly type: 'verdict'; readonly isAllowed: boolean; readonly delaySeconds: number };

/** A line to the process; the bytes of a page follow it. */
export interface PageOrder {
  readonly id: number;
  readonly task:
    | Omit<Extract<PageTask, { readonly type: 'page' }>, 'bytes'>
    | Extract<PageTask, { readonly type: 'rules' }>;
  readonly sizeBytes: number;
  readonly msMax: number;
  readonly heapMb: number;
  readonly residentBytesMax: number;
}

/** A line from it. */
export type PageReport =
  | { readonly id: number; readonly type: 'done'; readonly answer: PageAnswer }
  | { readonly id: number; readonly type: 'failed'; readonly limit?: 'time' | 'memory' };
