import type { TokenText } from '../engine.ts';

/** Piece of a prompt, ready for tokenization. */
export type PromptPiece =
  /** No part of the text may become a special token. */
  { readonly type: 'text'; readonly text: string } | { readonly type: 'tokens'; readonly tokens: readonly number[] };

export interface TokenizeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether texts may become control tokens. Default: false. Some servers always parse them. */
  readonly parsesSpecial?: boolean;
}

/** Tokenizer of a server. Every method throws `ServiceError` if the server fails or refuses. */
export interface ServerTokenizer {
  /** @param options `addsBos`: adds the token that begins a prompt (BOS). */
  tokenizeSpecial(text: string, options?: { readonly addsBos?: boolean }): Promise<readonly number[]>;
  /** Returns the tokens of the pieces, in order. Texts must have been cut inside the server's `markupInText`. */
  tokenizePieces(pieces: readonly PromptPiece[], options?: TokenizeOptions): Promise<readonly number[]>;
  /** Returns the text of each token; a part of a character is U+FFFD. */
  getTokenTexts(tokens: readonly number[]): Promise<readonly TokenText[]>;
}
