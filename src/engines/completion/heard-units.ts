import type { TokenLogprob } from '../../core/event.ts';
import type { Heard } from './dialect.ts';

/** What came in one event. */
export interface HeardPiece {
  readonly ids: readonly number[];
  readonly text: string;
  /** None, or one for each of the ids. */
  readonly logprobs: readonly TokenLogprob[];
}

/**
 * For servers that tell ids and text side by side: a token that ends inside a character says nothing, and its text comes
 * with a later one. Tokens wait for their text, so that a text can be cut behind any of them.
 */
export interface HeardUnits {
  push(piece: HeardPiece, emit: (event: Heard) => void): void;
  /** What still waits says nothing. */
  end(emit: (event: Heard) => void): void;
}

export function createHeardUnits(): HeardUnits {
  let ids: number[] = [];
  let logprobs: TokenLogprob[] = [];

  const tell = (text: string, emit: (event: Heard) => void): void => {
    const lastId = ids.at(-1);
    if (lastId === undefined) return;
    emit({ type: 'tokens', ids, lastId, count: ids.length, text, logprobs: inStep(logprobs, text) });
    ids = [];
    logprobs = [];
  };

  return {
    push(piece, emit) {
      ids.push(...piece.ids);
      logprobs.push(...piece.logprobs);
      if (piece.text !== '') tell(piece.text, emit);
    },
    end: (emit) => tell('', emit),
  };
}

const encoder = new TextEncoder();

/** Log probabilities that read as the text does; halves of a character read alike whichever they are, so one stands for all. */
function inStep(logprobs: readonly TokenLogprob[], text: string): readonly TokenLogprob[] {
  const last = logprobs.at(-1);
  if (!last || logprobs.map(({ token }) => token).join('') === text) return logprobs;
  return [{ ...last, token: text, bytes: [...encoder.encode(text)] }];
}
