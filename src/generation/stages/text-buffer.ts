import type { ChoiceEvent, TokenLogprob } from '../../core/event.ts';
import { assert } from '../../lib/assert.ts';

type TextEvent = Extract<ChoiceEvent, { type: 'text' }>;
type Emit = (event: ChoiceEvent) => void;

/**
 * Buffers text until it is decided whether it is emitted or dropped. Positions count characters from the first one.
 *
 * An event's log probabilities are emitted with the first part of its text, and lost when all of its text is dropped;
 * its tokens are always counted. An event with empty text belongs to the text after it.
 */
export interface TextBuffer {
  push(event: TextEvent): void;
  /** Adds text from the end of the prompt: it is parsed, but never emitted. */
  pushPromptText(text: string): void;
  /** Position after all text. */
  readonly end: number;
  /** Returns the character code at a position that is neither emitted nor dropped. */
  getCharCode(position: number): number;
  slice(from: number, to: number): string;
  /** Emits the text up to a position. */
  emitUntil(to: number, emit: Emit): void;
  /** Drops the text up to a position. */
  dropUntil(to: number): void;
  /** Emits the token count of dropped text in an event with empty text. */
  emitOwedTokens(emit: Emit): void;
}

interface Piece {
  readonly at: number;
  readonly text: string;
  /** Undefined for text from the prompt. */
  readonly event: Pick<TextEvent, 'choice' | 'phase'> | undefined;
  tokens: number;
  logprobs: readonly TokenLogprob[] | undefined;
}

/** Finished pieces are removed in groups of this size: removing each at once would copy the rest every time. */
const DONE_PIECES_MAX = 1_024;

export function createTextBuffer(): TextBuffer {
  let pieces: Piece[] = [];
  /** Index of the first unfinished piece. */
  let firstOpenPiece = 0;
  /** Index of the piece accessed last. */
  let cursor = 0;
  /** Text before this position was emitted or dropped. */
  let doneEnd = 0;
  let owedTokens: { readonly choice: number; readonly phase: number; readonly tokens: number } | undefined;

  const add = (piece: Omit<Piece, 'at'>): void => {
    pieces.push({ at: buffer.end, ...piece });
    buffer.end += piece.text.length;
  };

  const findPiece = (position: number): Piece => {
    cursor = Math.max(cursor, firstOpenPiece);
    while (cursor > firstOpenPiece && (pieces[cursor]?.at ?? Infinity) > position) cursor--;
    for (;;) {
      const piece = pieces[cursor];
      assert(piece, 'a position is within the text');
      if (position < piece.at + piece.text.length) return piece;
      cursor++;
    }
  };

  const addOwedTokens = (piece: Piece): void => {
    if (piece.event && piece.tokens > 0)
      owedTokens = { ...piece.event, tokens: (owedTokens?.tokens ?? 0) + piece.tokens };
    piece.tokens = 0;
  };

  const emitPiece = (piece: Piece, text: string, emit: Emit): void => {
    const { event, logprobs } = piece;
    if (!event) return;
    const tokens = piece.tokens + (owedTokens?.tokens ?? 0);
    owedTokens = undefined;
    emit({ type: 'text', ...event, text, tokens, ...(logprobs ? { logprobs } : {}) });
    piece.tokens = 0;
    piece.logprobs = undefined;
  };

  /** Visits the pieces up to a position; `isPast`: the piece ends there or before. */
  const advance = (to: number, visit: (piece: Piece, part: string, isPast: boolean) => void): void => {
    for (;;) {
      const piece = pieces[firstOpenPiece];
      if (!piece || piece.at > to || (piece.at === to && to < buffer.end)) break;
      const pieceEnd = piece.at + piece.text.length;
      const part = piece.text.slice(Math.max(doneEnd, piece.at) - piece.at, Math.max(to, doneEnd) - piece.at);
      visit(piece, part, pieceEnd <= to);
      if (pieceEnd > to) break;
      firstOpenPiece++;
    }
    doneEnd = Math.max(doneEnd, to);
    if (firstOpenPiece < DONE_PIECES_MAX && firstOpenPiece < pieces.length) return;
    pieces = pieces.slice(firstOpenPiece);
    cursor = Math.max(0, cursor - firstOpenPiece);
    firstOpenPiece = 0;
  };

  // Fields, not getters: V8 gives each object literal with a getter its own hidden class, which keeps everything that
  // the
  // getter references alive until the next full garbage collection.
  const buffer: TextBuffer & { end: number } = {
    end: 0,
    push({ text, choice, phase, tokens, logprobs }) {
      add({ text, event: { choice, phase }, tokens, logprobs });
    },
    pushPromptText(text) {
      add({ text, event: undefined, tokens: 0, logprobs: undefined });
    },
    getCharCode(position) {
      const piece = findPiece(position);
      return piece.text.charCodeAt(position - piece.at);
    },
    slice(from, to) {
      const parts: string[] = [];
      for (let position = from; position < to;) {
        const piece = findPiece(position);
        parts.push(piece.text.slice(position - piece.at, to - piece.at));
        position = piece.at + piece.text.length;
      }
      return parts.join('');
    },
    emitUntil(to, emit) {
      advance(to, (piece, part) => {
        if (part !== '' || piece.text === '') emitPiece(piece, part, emit);
      });
    },
    dropUntil(to) {
      advance(to, (piece, _, isPast) => {
        if (isPast) addOwedTokens(piece);
      });
    },
    emitOwedTokens(emit) {
      if (owedTokens) emit({ type: 'text', text: '', ...owedTokens });
      owedTokens = undefined;
    },
  };
  return buffer;
}
