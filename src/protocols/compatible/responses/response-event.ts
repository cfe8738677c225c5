import type { GenerationEvent } from '../../../core/event.ts';
import type { ResponseObject } from './encode.ts';

/** Events for the encoder: those of a generation, but the end event comes after the turn was stored. */
export type ResponseEvent =
  | Exclude<GenerationEvent, { readonly type: 'end' }>
  | { readonly type: 'response-end'; readonly response: ResponseObject };
