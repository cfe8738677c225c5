import type { Owner } from '../../../core/context.ts';

/** One line, asked like a request. */
export interface LineWish {
  readonly batch: string;
  /** As batches name endpoints, e.g. `/v1/chat/completions`. */
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sizeBytes: number;
  /** Whose batch it is; the key is looked at each time. */
  readonly owner: Owner;
  /** Ends the work; its reason is thrown. */
  readonly signal: AbortSignal;
}

export interface LineAnswer {
  readonly status: number;
  readonly requestId: string;
  /** JSON, as the endpoint would have answered. */
  readonly body: unknown;
  /** What the endpoint says beside its body, as `x-parley-ignored`; undefined where that is nothing. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** What the body says went wrong; undefined where nothing did. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** Of a refusal: when to ask again. */
  readonly retryAfterSeconds: number | undefined;
}

/** The endpoint's answer, whatever it is. Rejects with nothing but the signal's reason. */
export type ExecuteLine = (wish: LineWish) => Promise<LineAnswer>;
