import type { TokenLogprob } from '../../core/event.ts';
import { present } from '../../lib/present.ts';

export interface TextPiece {
  readonly text: string;
  readonly tokens?: number;
  readonly logprobs?: readonly TokenLogprob[];
}

/** What becomes of some characters of a text: `said` in their place. Said as they are, they keep their log probabilities. */
export interface Span {
  readonly text: string;
  readonly said: string;
}

/** What a text came in, so that what is said of it later still has its tokens. */
export interface TextPieces {
  push(piece: TextPiece): void;
  /** The next characters; undefined when nothing is said of them: their tokens are then told with what follows. */
  take(spans: readonly Span[]): TextPiece | undefined;
  /** What no character tells of. */
  rest(): TextPiece | undefined;
}

interface Waiting {
  left: number;
  tokens: number;
  logprobs: readonly TokenLogprob[] | undefined;
}

/**
 * Log probabilities of a piece go out with the first of its characters that are said as they came, and not at all where
 * none is. Tokens are counted in any case.
 */
export function createTextPieces(): TextPieces {
  let waiting: Waiting[] = [];
  let tokens = 0;

  const touch = (length: number, isSaid: boolean, logprobs: TokenLogprob[]): void => {
    let left = length;
    let done = 0;
    for (const piece of waiting) {
      if (left === 0 && piece.left > 0) break;
      const part = Math.min(left, piece.left);
      tokens += piece.tokens;
      piece.tokens = 0;
      if (isSaid && piece.logprobs) {
        logprobs.push(...piece.logprobs);
        piece.logprobs = undefined;
      }
      piece.left -= part;
      left -= part;
      if (piece.left > 0) break;
      done++;
    }
    waiting = waiting.slice(done);
  };

  const told = (text: string, logprobs: readonly TokenLogprob[]): TextPiece | undefined => {
    if (text === '' && logprobs.length === 0) return undefined;
    const own = {
      text,
      ...present({ tokens: tokens || undefined, logprobs: logprobs.length > 0 ? logprobs : undefined }),
    };
    tokens = 0;
    return own;
  };

  return {
    push({ text, tokens: own = 0, logprobs }) {
      waiting.push({ left: text.length, tokens: own, logprobs });
    },
    take(spans) {
      const logprobs: TokenLogprob[] = [];
      for (const { text, said } of spans) if (text !== '') touch(text.length, text === said, logprobs);
      return told(spans.map(({ said }) => said).join(''), logprobs);
    },
    rest() {
      const logprobs: TokenLogprob[] = [];
      touch(0, true, logprobs);
      return told('', logprobs);
    },
  };
}
