import type { Piece } from './split-text.ts';

/** What is translated at once, what is known already, and what stays as it is. */
export type Unit =
  | { readonly type: 'kept'; readonly text: string }
  | { readonly type: 'known'; readonly text: string; readonly translation: string }
  | { readonly type: 'segment'; readonly text: string };

export interface PackOptions {
  /** UTF-16 units of one segment. A sentence that is longer is a segment of its own. */
  readonly charactersMax: number;
  /** The translation of a sentence that need not be made. */
  readonly knownFor: (sentence: string) => string | undefined;
}

/**
 * Sentences of a line together, as long as nothing or one blank stands between them: how sentences follow each other is the
 * target language's affair then. Anything else between two sentences is kept and parts them.
 */
export function pack(pieces: readonly Piece[], { charactersMax, knownFor }: PackOptions): readonly Unit[] {
  const units: Unit[] = [];
  for (const { type, text } of pieces) {
    if (type === 'kept') {
      units.push({ type, text });
      continue;
    }
    const translation = knownFor(text);
    if (translation !== undefined) {
      units.push({ type: 'known', text, translation });
      continue;
    }
    const gap = units.at(-1);
    const hasBlank = gap?.type === 'kept' && gap.text === ' ';
    const before = hasBlank ? units.at(-2) : gap;
    const together = before?.type === 'segment' ? `${before.text}${hasBlank ? ' ' : ''}${text}` : undefined;
    if (together === undefined || together.length > charactersMax) {
      units.push({ type: 'segment', text });
      continue;
    }
    units.length -= hasBlank ? 2 : 1;
    units.push({ type: 'segment', text: together });
  }
  return units;
}
