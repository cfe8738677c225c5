import type { Piece } from './split-text.ts';

/** A part of a text: as it was split, or with the translation that is known for it. */
export type KnownPiece =
  | Piece
  | { readonly type: 'known'; readonly text: string; readonly translation: string; readonly continues?: true };

type KnownFor = (text: string) => string | undefined;

/** Ours: pieces of a line that are looked up together at most, beside all of it. */
const RUN_PIECES_MAX = 32;

/**
 * What is known of a text put in its place: each whole line, with the marks at its beginning or without them, else the longest
 * runs of its pieces. So a pair is found that is no sentence of ours, as `Dr. Smith arrived.` or two sentences.
 */
export function withKnownRuns(pieces: readonly Piece[], knownFor: KnownFor): readonly KnownPiece[] {
  return linesOf(pieces).flatMap((line) => knownOfLine(line, knownFor));
}

function knownOfLine(line: readonly Piece[], knownFor: KnownFor): readonly KnownPiece[] {
  const first = line.findIndex(({ type }) => type === 'sentence');
  if (first < 0) return line;
  const behind = line.findLastIndex(({ type }) => type === 'sentence') + 1;
  const found: KnownPiece[] = [];
  const take = (start: number, end: number): boolean => {
    const run = line.slice(start, end);
    const text = run.map((piece) => piece.text).join('');
    const translation = knownFor(text);
    if (translation === undefined) return false;
    const [begin] = run;
    found.push({
      type: 'known',
      text,
      translation,
      ...(begin?.type === 'sentence' && begin.continues ? { continues: true } : {}),
    });
    return true;
  };
  if (first > 0 && take(0, behind)) return [...found, ...line.slice(behind)];
  for (let start = 0; start < line.length; start++) {
    const piece = line[start];
    if (!piece) break;
    const ends = piece.type === 'sentence' ? endsOf(line, start, { first, behind }) : [];
    const end = ends.find((each) => take(start, each));
    if (end === undefined) found.push(piece);
    else start = end - 1;
  }
  return found;
}

/** Where runs from there may end: behind a sentence, the longest first. */
function endsOf(
  line: readonly Piece[],
  start: number,
  { first, behind }: { readonly first: number; readonly behind: number },
): readonly number[] {
  const ends: number[] = [];
  for (let end = start + 1; end < behind && end <= start + RUN_PIECES_MAX; end++)
    if (line[end - 1]?.type === 'sentence') ends.push(end);
  const isNear = behind <= start + RUN_PIECES_MAX;
  return [...(start === first || isNear ? [behind] : []), ...ends.toReversed()];
}

/** Pieces line by line; what is kept is parted behind its last line break and before its first. */
function linesOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces) {
    const breaks = piece.type === 'kept' ? /^([^\r\n]*)([\r\n](?:.*[\r\n])?)([^\r\n]*)$/s.exec(piece.text) : null;
    if (!breaks) {
      lines.at(-1)?.push(piece);
      continue;
    }
    const [, tail = '', between = '', lead = ''] = breaks;
    lines.at(-1)?.push(...kept(tail + between));
    lines.push([...kept(lead)]);
  }
  return lines;
}

const kept = (text: string): readonly Piece[] => (text === '' ? [] : [{ type: 'kept', text }]);
