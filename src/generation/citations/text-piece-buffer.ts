import type { TokenLogprob } from '../../core/event.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';

export interface TextPiece {
  readonly text: string;
  readonly tokens?: number;
  readonly logprobs?: readonly TokenLogprob[];
}

/** A part of a text and the `output` that replaces it. Unchanged text keeps its log probabilities. */
export interface TextReplacement {
  readonly text: string;
  readonly output: string;
}

/** Buffers pieces of a text, so that output produced later still has their tokens. */
export interface TextPieceBuffer {
  push(piece: TextPiece): void;
  /** Takes the next characters; undefined without output: their tokens are then counted with the next piece. */
  take(replacements: readonly TextReplacement[]): TextPiece | undefined;
  /** Takes what is left without text: tokens and log probabilities. */
  takeRest(): TextPiece | undefined;
}

interface PendingPiece {
  left: number;
  tokens: number;
  logprobs: readonly TokenLogprob[] | undefined;
}

/**
 * Log probabilities of a piece are emitted with the first of its characters that stays unchanged, and lost when none
 * does. Tokens are always counted.
 */
export function createTextPieceBuffer(): TextPieceBuffer {
  let pieces: PendingPiece[] = [];
  let tokens = 0;

  const consume = (length: number, keepsLogprobs: boolean, logprobs: TokenLogprob[]): void => {
    let left = length;
    let done = 0;
    for (const piece of pieces) {
      if (left === 0 && piece.left > 0) break;
      const part = Math.min(left, piece.left);
      tokens += piece.tokens;
      piece.tokens = 0;
      if (keepsLogprobs && piece.logprobs) {
        logprobs.push(...piece.logprobs);
        piece.logprobs = undefined;
      }
      piece.left -= part;
      left -= part;
      if (piece.left > 0) break;
      done++;
    }
    pieces = pieces.slice(done);
  };

  const createPiece = (text: string, logprobs: readonly TokenLogprob[]): TextPiece | undefined => {
    if (text === '' && logprobs.length === 0) return undefined;
    const piece = {
      text,
      ...omitNullish({ tokens: tokens || undefined, logprobs: logprobs.length > 0 ? logprobs : undefined }),
    };
    tokens = 0;
    return piece;
  };

  return {
    push({ text, tokens: pieceTokens = 0, logprobs }) {
      pieces.push({ left: text.length, tokens: pieceTokens, logprobs });
    },
    take(replacements) {
      const logprobs: TokenLogprob[] = [];
      for (const { text, output } of replacements) if (text !== '') consume(text.length, text === output, logprobs);
      return createPiece(replacements.map(({ output }) => output).join(''), logprobs);
    },
    takeRest() {
      const logprobs: TokenLogprob[] = [];
      consume(0, true, logprobs);
      return createPiece('', logprobs);
    },
  };
}
