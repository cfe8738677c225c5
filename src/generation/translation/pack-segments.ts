import type { KnownPiece } from './known-pieces.ts';

/** A unit of a translation: a segment to translate, a known translation, or text that stays unchanged. */
export type TranslationUnit =
  | { readonly type: 'kept'; readonly text: string }
  | { readonly type: 'known'; readonly text: string; readonly translation: string; readonly continues?: true }
  | { readonly type: 'segment'; readonly text: string; readonly continues?: true };

export interface PackOptions {
  /** Length limit of a segment in UTF-16 units. A longer sentence is a segment of its own. */
  readonly charactersMax: number;
}

/**
 * Packs sentences of a line into segments while at most one space separates them, which lets the model choose the
 * spacing of the target language. Any other text between two sentences is kept and separates segments.
 */
export function packSegments(
  pieces: readonly KnownPiece[],
  { charactersMax }: PackOptions,
): readonly TranslationUnit[] {
  const units: TranslationUnit[] = [];
  for (const piece of pieces) {
    if (piece.type !== 'sentence') {
      units.push(piece);
      continue;
    }
    const { text, continues } = piece;
    const lastUnit = units.at(-1);
    const hasBlank = lastUnit?.type === 'kept' && lastUnit.text === ' ';
    const before = hasBlank ? units.at(-2) : lastUnit;
    const joined = before?.type === 'segment' ? `${before.text}${hasBlank ? ' ' : ''}${text}` : '';
    if (before?.type !== 'segment' || joined.length > charactersMax) {
      units.push({ type: 'segment', text, ...(continues ? { continues } : {}) });
      continue;
    }
    units.length -= hasBlank ? 2 : 1;
    units.push({ ...before, text: joined });
  }
  return units;
}
