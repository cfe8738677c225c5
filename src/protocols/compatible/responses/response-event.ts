import type { GenerationEvent } from '../../../core/event.ts';
import type { ResponseObject } from './encode.ts';

/** What the encoder sees: a generation whose end is told only when what it leaves behind is kept. */
export type ResponseEvent =
  | Exclude<GenerationEvent, { readonly type: 'end' }>
  | { readonly type: 'response-end'; readonly response: ResponseObject };
