import type { TokenLogprob } from '../../core/event.ts';
import type { CompletionEvent } from './completion-dialect.ts';

/** Ids and text of one event. */
export interface TokenPiece {
  readonly ids: readonly number[];
  readonly text: string;
  /** Empty, or one per id. */
  readonly logprobs: readonly TokenLogprob[];
}

/**
 * Aligns token ids and text for servers that report them side by side: a token that ends inside a character has no text
 * of its own, which comes with a later token. Such tokens are buffered, so that an answer can be cut after any event.
 */
export interface TokenTextAligner {
  push(piece: TokenPiece, emit: (event: CompletionEvent) => void): void;
  /** Emits the buffered tokens, without text. */
  end(emit: (event: CompletionEvent) => void): void;
}

export function createTokenTextAligner(): TokenTextAligner {
  let ids: number[] = [];
  let logprobs: TokenLogprob[] = [];

  const emitTokens = (text: string, emit: (event: CompletionEvent) => void): void => {
    const lastId = ids.at(-1);
    if (lastId === undefined) return;
    emit({ type: 'tokens', ids, lastId, count: ids.length, text, logprobs: alignLogprobs(logprobs, text) });
    ids = [];
    logprobs = [];
  };

  return {
    push(piece, emit) {
      ids.push(...piece.ids);
      logprobs.push(...piece.logprobs);
      if (piece.text !== '') emitTokens(piece.text, emit);
    },
    end: (emit) => emitTokens('', emit),
  };
}

const encoder = new TextEncoder();

/** Replaces log probabilities that do not match the text, such as those of half characters, by one for the text. */
function alignLogprobs(logprobs: readonly TokenLogprob[], text: string): readonly TokenLogprob[] {
  const last = logprobs.at(-1);
  if (!last || logprobs.map(({ token }) => token).join('') === text) return logprobs;
  return [{ ...last, token: text, bytes: [...encoder.encode(text)] }];
}
