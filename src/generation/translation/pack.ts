import type { KnownPiece } from './known-runs.ts';

/** What is translated at once, what is known already, and what stays as it is. */
export type Unit =
  | { readonly type: 'kept'; readonly text: string }
  | { readonly type: 'known'; readonly text: string; readonly translation: string; readonly continues?: true }
  | { readonly type: 'segment'; readonly text: string; readonly continues?: true };

export interface PackOptions {
  /** UTF-16 units of one segment. A sentence that is longer is a segment of its own. */
  readonly charactersMax: number;
}

/**
 * Sentences of a line together, as long as nothing or one blank stands between them: how sentences follow each other is the
 * target language's affair then. Anything else between two sentences is kept and parts them.
 */
export function pack(pieces: readonly KnownPiece[], { charactersMax }: PackOptions): readonly Unit[] {
  const units: Unit[] = [];
  for (const piece of pieces) {
    if (piece.type !== 'sentence') {
      units.push(piece);
      continue;
    }
    const { text, continues } = piece;
    const gap = units.at(-1);
    const hasBlank = gap?.type === 'kept' && gap.text === ' ';
    const before = hasBlank ? units.at(-2) : gap;
    const together = before?.type === 'segment' ? `${before.text}${hasBlank ? ' ' : ''}${text}` : '';
    if (before?.type !== 'segment' || together.length > charactersMax) {
      units.push({ type: 'segment', text, ...(continues ? { continues } : {}) });
      continue;
    }
    units.length -= hasBlank ? 2 : 1;
    units.push({ ...before, text: together });
  }
  return units;
}
