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

/** @param markers Special tokens, about which servers are silent, that are told as text. */
export function createHeardUnits(markers: ReadonlyMap<number, string>): HeardUnits {
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
      // Several tokens come together where a server is behind; a marker among them is rare, and stands first or last.
      const at = piece.ids.findIndex((id) => markers.has(id));
      const marker = at < 0 ? '' : (markers.get(piece.ids[at] ?? -1) ?? '');
      ids.push(...piece.ids);
      logprobs.push(...piece.logprobs);
      const text = at === 0 ? marker + piece.text : piece.text + marker;
      if (text !== '') tell(text, emit);
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
