import type { PageContent } from './extract-html-page.ts';

/** A task for the threads that read pages. */
export type PageTask =
  | {
      readonly type: 'page';
      readonly kind: 'html' | 'text' | 'markdown';
      readonly bytes: Uint8Array;
      /** The Content-Type header as sent by the server. */
      readonly contentType: string;
      readonly url: string;
      readonly charsMax: number;
    }
  | {
      readonly type: 'rules';
      /** URL and text of the robots.txt file. */
      readonly rulesUrl: string;
      readonly rules: string;
      readonly url: string;
      readonly agent: string;
    };

export type PageTaskResult =
  | { readonly type: 'content'; readonly content: PageContent }
  | { readonly type: 'decision'; readonly isAllowed: boolean; readonly delaySeconds: number };

/** A line to the process. `sizeBytes` bytes of a page follow it. */
export interface PageCommand {
  readonly id: number;
  readonly task:
    | Omit<Extract<PageTask, { readonly type: 'page' }>, 'bytes'>
    | Extract<PageTask, { readonly type: 'rules' }>;
  readonly sizeBytes: number;
  readonly cpuMsMax: number;
  readonly heapMb: number;
  readonly residentBytesMax: number;
}

/** A line from the process. */
export type PageReport =
  | { readonly id: number; readonly type: 'done'; readonly answer: PageTaskResult }
  | { readonly id: number; readonly type: 'failed'; readonly limit?: 'time' | 'memory' };
