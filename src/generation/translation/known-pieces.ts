import type { Piece } from './split-text.ts';

/** A part of a text: as split, or with a known translation from the memory. */
export type KnownPiece =
  | Piece
  | { readonly type: 'known'; readonly text: string; readonly translation: string; readonly continues?: true };

type FindTranslation = (text: string) => string | undefined;

/** Pieces of a line that are looked up together, apart from the whole line. */
const RUN_PIECES_MAX = 32;

/**
 * Substitutes known translations: for each whole line, with or without the list marks at its start, or else for the
 * longest sequences of its pieces. This also finds memory pairs of several sentences, and of text that the splitter
 * divides, such as `Dr. Smith arrived.`
 */
export function substituteKnownPieces(
  pieces: readonly Piece[],
  findTranslation: FindTranslation,
): readonly KnownPiece[] {
  return splitIntoLines(pieces).flatMap((line) => substituteInLine(line, findTranslation));
}

function substituteInLine(line: readonly Piece[], findTranslation: FindTranslation): readonly KnownPiece[] {
  const first = line.findIndex(({ type }) => type === 'sentence');
  if (first < 0) return line;
  const lineEnd = line.findLastIndex(({ type }) => type === 'sentence') + 1;
  const result: KnownPiece[] = [];
  const take = (start: number, end: number): boolean => {
    const run = line.slice(start, end);
    const text = run.map((piece) => piece.text).join('');
    const translation = findTranslation(text);
    if (translation === undefined) return false;
    const [firstPiece] = run;
    result.push({
      type: 'known',
      text,
      translation,
      ...(firstPiece?.type === 'sentence' && firstPiece.continues ? { continues: true } : {}),
    });
    return true;
  };
  if (first > 0 && take(0, lineEnd)) return [...result, ...line.slice(lineEnd)];
  for (let start = 0; start < line.length; start++) {
    const piece = line[start];
    if (!piece) break;
    const ends = piece.type === 'sentence' ? listEnds(line, start, { first, lineEnd }) : [];
    const end = ends.find((each) => take(start, each));
    if (end === undefined) result.push(piece);
    else start = end - 1;
  }
  return result;
}

/** Positions where a sequence from `start` may end: after a sentence, the longest first. */
function listEnds(
  line: readonly Piece[],
  start: number,
  { first, lineEnd }: { readonly first: number; readonly lineEnd: number },
): readonly number[] {
  const ends: number[] = [];
  for (let end = start + 1; end < lineEnd && end <= start + RUN_PIECES_MAX; end++)
    if (line[end - 1]?.type === 'sentence') ends.push(end);
  const isWithinReach = lineEnd <= start + RUN_PIECES_MAX;
  return [...(start === first || isWithinReach ? [lineEnd] : []), ...ends.toReversed()];
}

/** Groups pieces by line. A kept piece is divided after its last line break and before its first. */
function splitIntoLines(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces) {
    const breaks = piece.type === 'kept' ? /^([^\r\n]*)([\r\n](?:.*[\r\n])?)([^\r\n]*)$/s.exec(piece.text) : null;
    if (!breaks) {
      lines.at(-1)?.push(piece);
      continue;
    }
    const [, tail = '', between = '', lead = ''] = breaks;
    lines.at(-1)?.push(...createKeptPieces(tail + between));
    lines.push([...createKeptPieces(lead)]);
  }
  return lines;
}

const createKeptPieces = (text: string): readonly Piece[] => (text === '' ? [] : [{ type: 'kept', text }]);
