import type { Citation, CitationForm, Source } from '../../core/server-tools.ts';
import { countCodePoints } from '../../lib/code-points.ts';
import { createCodeWatch } from './code-watch.ts';
import type { Part } from './code-watch.ts';
import { freeOfMarks, trailingBlanks, writeMark } from './marks.ts';
import { createPassage } from './passage.ts';
import type { Passage } from './passage.ts';
import { endOfStop, sentenceEnd } from './sentence-end.ts';
import { createTextPieces } from './text-pieces.ts';
import type { Span, TextPiece } from './text-pieces.ts';

export interface CitedPiece extends TextPiece {
  readonly citations?: readonly Citation[];
}

/** The text of one block as it grows. Where citations are wished, at most the sentence that is being written is held back. */
export interface CitedText {
  push(piece: TextPiece): readonly CitedPiece[];
  end(): readonly CitedPiece[];
}

interface Known {
  readonly source: Source;
  readonly passage: Passage;
}

/**
 * Marks that point at no source go. Where citations are wished, so do those of a sentence that its source does not bear out;
 * the others get the wished form, and a sentence without any gets one where a source says the same almost in its words.
 * Code stays as it is.
 *
 * @returns one for each text of an answer: the sources are taken apart once.
 */
export function createCitedTexts(sources: readonly Source[], form: CitationForm | undefined): () => CitedText {
  const known = new Map<number, Known>(
    sources.map((source) => [source.index, { source, passage: createPassage(source.passage, source.title) }]),
  );
  return () => createCitedText(known, form);
}

function createCitedText(known: ReadonlyMap<number, Known>, form: CitationForm | undefined): CitedText {
  const pieces = createTextPieces();
  const code = createCodeWatch();
  let waiting = '';
  /** Code points that were said. */
  let said = 0;

  const sourcesOf = (sentence: string, marked: readonly number[]): readonly Known[] => {
    const named = [...new Set(marked)].flatMap((index) => known.get(index) ?? []);
    if (form === undefined) return named;
    const holding = named.filter(({ passage }) => passage.check(sentence).holds);
    if (holding.length > 0) return holding;
    const bearing = known.values().find(({ passage }) => passage.bears(sentence));
    return bearing ? [bearing] : [];
  };

  const tell = (unit: string): CitedPiece | undefined => {
    const parts = code.read(unit);
    const sentence = parts
      .map(({ text, marks }) => (marks ? '' : text))
      .join('')
      .replace(ITEM, '');
    const marked = parts.flatMap(({ marks }) => marks ?? []);
    const isCode = parts.every(({ isCode: is }) => is);
    const holding = isCode ? [] : sourcesOf(sentence, marked);
    const spans = written(
      parts,
      holding.map(({ source }) => source.index),
      form,
    );
    const piece = pieces.take(spans);
    const text = piece?.text ?? '';
    const start = said + countCodePoints(text.slice(0, text.length - text.trimStart().length));
    said += countCodePoints(text);
    if (!piece || form !== 'attached' || holding.length === 0) return piece;
    const end = start + countCodePoints(text.trim());
    const citations = holding.map(({ source, passage }) => ({ source, cited: passage.nearest(sentence), start, end }));
    return { ...piece, citations };
  };

  const release = (isLast: boolean): readonly CitedPiece[] => {
    const told: CitedPiece[] = [];
    for (;;) {
      const end =
        form === undefined ? freeEnd(waiting, isLast) : sentenceEnd(waiting, { isLast, isFenced: code.isFenced() });
      if (end === undefined) return told;
      const piece = tell(waiting.slice(0, end));
      waiting = waiting.slice(end);
      if (piece) told.push(piece);
    }
  };

  return {
    push(piece) {
      pieces.push(piece);
      waiting += piece.text;
      return release(false);
    },
    end() {
      const told = release(true);
      const rest = pieces.rest();
      return rest ? [...told, rest] : told;
    },
  };
}

/** What an item of a list begins with: its number is nothing that a source could say. */
const ITEM = /^\s*(?:[-*+•]|\d{1,3}[.)])[ \t]+/;

function freeEnd(text: string, isLast: boolean): number | undefined {
  const end = isLast ? text.length : freeOfMarks(text);
  return end === 0 ? undefined : end;
}

/** Each mark with the sources among its own that are kept; those that nobody marked stand at the sentence's end. */
function written(parts: readonly Part[], kept: readonly number[], form: CitationForm | undefined): readonly Span[] {
  const spans: Span[] = [];
  const told = new Set<number>();
  for (const { text, marks } of parts) {
    if (!marks) {
      spans.push({ text, said: text });
      continue;
    }
    const good = form === 'attached' ? [] : marks.filter((index) => kept.includes(index));
    const isAll = form === undefined && good.length === marks.length;
    const fresh = form === undefined ? good : good.filter((index) => !told.has(index));
    for (const index of fresh) told.add(index);
    const said = isAll
      ? text
      : fresh.map((index) => writeMark(index, form === 'ref-number' ? form : 'number')).join('');
    if (said === '') dropTrailingBlanks(spans);
    spans.push({ text, said });
  }
  const untold = form === undefined || form === 'attached' ? [] : kept.filter((index) => !told.has(index));
  if (untold.length > 0 && form !== undefined && form !== 'attached')
    addAtEnd(spans, untold.map((index) => writeMark(index, form)).join(''));
  return spans;
}

/** Blanks before a mark that goes, go with it. */
function dropTrailingBlanks(spans: Span[]): void {
  const last = spans.at(-1);
  if (!last || last.said !== last.text) return;
  const blanks = trailingBlanks(last.text);
  if (blanks === 0) return;
  const kept = last.text.slice(0, -blanks);
  spans.splice(-1, 1, { text: kept, said: kept }, { text: last.text.slice(-blanks), said: '' });
}

/** Before what ends the sentence. */
function addAtEnd(spans: Span[], mark: string): void {
  const at = spans.findLastIndex(({ said }) => said.trim() !== '');
  const last = spans[at];
  if (!last) return;
  const end = endOfStop(last.said);
  const [before, behind] = [last.text.slice(0, end), last.text.slice(end)];
  const isWhole = last.said === last.text;
  if (!isWhole) return;
  spans.splice(at, 1, { text: before, said: before }, { text: '', said: mark }, { text: behind, said: behind });
}
