import type { EngineEvent, TokenLogprob } from '../../core/event.ts';
import { assert } from '../../lib/assert.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;
type TextEvent = Extract<ChoiceEvent, { type: 'text' }>;
type Emit = (event: ChoiceEvent) => void;

/**
 * Text of which it is not known yet whether it is said. Positions count characters from the first.
 *
 * An event's log probabilities go out with the first of its text that is said, and not at all when none is; its tokens are
 * counted in any case. An event without text belongs to what comes behind it.
 */
export interface HeldText {
  push(event: TextEvent): void;
  /** Text that stands in the prompt: it is read, and never said. */
  pushSilent(text: string): void;
  /** Position behind all text. */
  readonly end: number;
  /** Character at a position that is neither said nor dropped. */
  codeAt(position: number): number;
  slice(from: number, to: number): string;
  /** Says the text up to a position. */
  say(to: number, emit: Emit): void;
  /** Drops the text up to a position. */
  drop(to: number): void;
  /** Tells tokens of dropped text that nobody was told of. */
  settle(emit: Emit): void;
}

interface Piece {
  readonly at: number;
  readonly text: string;
  /** Undefined: it stands in the prompt. */
  readonly event: Pick<TextEvent, 'choice' | 'phase'> | undefined;
  tokens: number;
  logprobs: readonly TokenLogprob[] | undefined;
}

/** Pieces that are done with are kept until there are so many: taking them away one by one would copy the rest each time. */
const DONE_MAX = 1_024;

export function createHeldText(): HeldText {
  let pieces: Piece[] = [];
  /** The first piece that is not done with. */
  let first = 0;
  /** The piece looked at last. */
  let cursor = 0;
  /** Text before this position is said or dropped. */
  let done = 0;
  let owed: { readonly choice: number; readonly phase: number; readonly tokens: number } | undefined;

  const add = (piece: Omit<Piece, 'at'>): void => {
    pieces.push({ at: held.end, ...piece });
    held.end += piece.text.length;
  };

  const pieceAt = (position: number): Piece => {
    cursor = Math.max(cursor, first);
    while (cursor > first && (pieces[cursor]?.at ?? Infinity) > position) cursor--;
    for (;;) {
      const piece = pieces[cursor];
      assert(piece, 'a position is within the text');
      if (position < piece.at + piece.text.length) return piece;
      cursor++;
    }
  };

  const owe = (piece: Piece): void => {
    if (piece.event && piece.tokens > 0) owed = { ...piece.event, tokens: (owed?.tokens ?? 0) + piece.tokens };
    piece.tokens = 0;
  };

  const tell = (piece: Piece, text: string, emit: Emit): void => {
    const { event, logprobs } = piece;
    if (!event) return;
    const tokens = piece.tokens + (owed?.tokens ?? 0);
    owed = undefined;
    emit({ type: 'text', ...event, text, tokens, ...(logprobs ? { logprobs } : {}) });
    piece.tokens = 0;
    piece.logprobs = undefined;
  };

  /** Goes through the pieces up to a position; `isPast`: nothing of the piece is left behind it. */
  const advance = (to: number, visit: (piece: Piece, part: string, isPast: boolean) => void): void => {
    for (;;) {
      const piece = pieces[first];
      if (!piece || piece.at > to || (piece.at === to && to < held.end)) break;
      const pieceEnd = piece.at + piece.text.length;
      const part = piece.text.slice(Math.max(done, piece.at) - piece.at, Math.max(to, done) - piece.at);
      visit(piece, part, pieceEnd <= to);
      if (pieceEnd > to) break;
      first++;
    }
    done = Math.max(done, to);
    if (first < DONE_MAX && first < pieces.length) return;
    pieces = pieces.slice(first);
    cursor = Math.max(0, cursor - first);
    first = 0;
  };

  // Fields, not getters: an object literal with a getter gets a hidden class of its own each time it is made, which keeps
  // all that the getter sees until the next full collection.
  const held: HeldText & { end: number } = {
    end: 0,
    push({ text, choice, phase, tokens, logprobs }) {
      add({ text, event: { choice, phase }, tokens, logprobs });
    },
    pushSilent(text) {
      add({ text, event: undefined, tokens: 0, logprobs: undefined });
    },
    codeAt(position) {
      const piece = pieceAt(position);
      return piece.text.charCodeAt(position - piece.at);
    },
    slice(from, to) {
      const parts: string[] = [];
      for (let position = from; position < to;) {
        const piece = pieceAt(position);
        parts.push(piece.text.slice(position - piece.at, to - piece.at));
        position = piece.at + piece.text.length;
      }
      return parts.join('');
    },
    say(to, emit) {
      advance(to, (piece, part) => {
        if (part !== '' || piece.text === '') tell(piece, part, emit);
      });
    },
    drop(to) {
      advance(to, (piece, _, isPast) => {
        if (isPast) owe(piece);
      });
    },
    settle(emit) {
      if (owed) emit({ type: 'text', text: '', ...owed });
      owed = undefined;
    },
  };
  return held;
}
