import type { TokenText } from '../engine.ts';

/** A piece of a prompt, ready to be made into tokens. */
export type PromptPiece =
  /** No part of it may become a special token. */
  { readonly type: 'text'; readonly text: string } | { readonly type: 'tokens'; readonly tokens: readonly number[] };

/** A server's tokenizer. Every method throws ServiceError where the server fails or refuses. */
export interface TokenServer {
  /** @param begins What the model begins a prompt with comes first. */
  special(text: string, options?: { readonly begins?: boolean }): Promise<readonly number[]>;
  /** Tokens of the pieces, in order. Texts were cut inside the server's `markupInText`. */
  plain(pieces: readonly PromptPiece[], signal?: AbortSignal): Promise<readonly number[]>;
  /** What each token reads; half a character reads U+FFFD. */
  texts(tokens: readonly number[]): Promise<readonly TokenText[]>;
}
