import type { Citation, CitationStyle, Source } from '../../core/server-tools.ts';
import { countCodePoints } from '../../lib/code-points.ts';
import { createCodeTracker, type MarkedText } from './code-tracker.ts';
import { countMarkFreeChars, countTrailingBlanks, formatMark } from './citation-marks.ts';
import { createPassage, type Passage } from './passage.ts';
import { findStopStart, findSentenceEnd } from './sentence-end.ts';
import { createTextPieceBuffer, type TextReplacement, type TextPiece } from './text-piece-buffer.ts';

export interface CitedTextPiece extends TextPiece {
  readonly citations?: readonly Citation[];
}

/** Rewrites the citation marks in the text of one block. With citations requested, it buffers at most one sentence. */
export interface CitationVerifier {
  push(piece: TextPiece): readonly CitedTextPiece[];
  end(): readonly CitedTextPiece[];
}

interface SourcePassage {
  readonly source: Source;
  readonly passage: Passage;
}

/**
 * Creates a factory of verifiers, one for each text of an answer; the sources are analyzed once.
 *
 * Marks without a source are removed. When citations are requested, marks of a sentence that its source does not
 * support are removed too, the others are rewritten in the requested form, and a sentence without marks gets one when
 * a source says almost the same. Code stays unchanged.
 */
export function createCitationVerifierFactory(
  sources: readonly Source[],
  form: CitationStyle | undefined,
): () => CitationVerifier {
  const passages = new Map<number, SourcePassage>(
    sources.map((source) => [source.index, { source, passage: createPassage(source.passage, source.title) }]),
  );
  return () => createCitationVerifier(passages, form);
}

function createCitationVerifier(
  passages: ReadonlyMap<number, SourcePassage>,
  form: CitationStyle | undefined,
): CitationVerifier {
  const pieces = createTextPieceBuffer();
  const code = createCodeTracker();
  let pendingText = '';
  /** Code points that were emitted. */
  let emittedCodePoints = 0;

  const findSupportingSources = (sentence: string, markedIndexes: readonly number[]): readonly SourcePassage[] => {
    const markedSources = [...new Set(markedIndexes)].flatMap((index) => passages.get(index) ?? []);
    if (form === undefined) return markedSources;
    const supporting = markedSources.filter(({ passage }) => passage.compareSentence(sentence).isSupported);
    if (supporting.length > 0) return supporting;
    const clearSupport = passages.values().find(({ passage }) => passage.clearlySupports(sentence));
    return clearSupport ? [clearSupport] : [];
  };

  const processUnit = (unit: string): CitedTextPiece | undefined => {
    const parts = code.read(unit);
    const sentence = parts
      .map(({ text, marks }) => (marks ? '' : text))
      .join('')
      .replace(LIST_ITEM_PREFIX, '');
    const markedIndexes = parts.flatMap(({ marks }) => marks ?? []);
    const isCode = parts.every(({ isCode: is }) => is);
    const supporting = isCode ? [] : findSupportingSources(sentence, markedIndexes);
    const replacements = rewriteMarks(
      parts,
      supporting.map(({ source }) => source.index),
      form,
    );
    const piece = pieces.take(replacements);
    const text = piece?.text ?? '';
    const start = emittedCodePoints + countCodePoints(text.slice(0, text.length - text.trimStart().length));
    emittedCodePoints += countCodePoints(text);
    if (!piece || form !== 'attached' || supporting.length === 0) return piece;
    const end = start + countCodePoints(text.trim());
    const citations = supporting.map(({ source, passage }) => ({
      source,
      citedText: passage.findNearestSentence(sentence),
      start,
      end,
    }));
    return { ...piece, citations };
  };

  const processReady = (isLast: boolean): readonly CitedTextPiece[] => {
    const ready: CitedTextPiece[] = [];
    for (;;) {
      const end =
        form === undefined
          ? findMarkFreeEnd(pendingText, isLast)
          : findSentenceEnd(pendingText, { isLast, isFenced: code.isFenced() });
      if (end === undefined) return ready;
      const piece = processUnit(pendingText.slice(0, end));
      pendingText = pendingText.slice(end);
      if (piece) ready.push(piece);
    }
  };

  return {
    push(piece) {
      pieces.push(piece);
      pendingText += piece.text;
      return processReady(false);
    },
    end() {
      const ready = processReady(true);
      const rest = pieces.takeRest();
      return rest ? [...ready, rest] : ready;
    },
  };
}

/** Matches the start of a list item; its number is not part of the claim. */
const LIST_ITEM_PREFIX = /^\s*(?:[-*+•]|\d{1,3}[.)])[ \t]+/;

function findMarkFreeEnd(text: string, isLast: boolean): number | undefined {
  const end = isLast ? text.length : countMarkFreeChars(text);
  return end === 0 ? undefined : end;
}

/** Keeps the supported sources of each mark; supported sources without a mark are added at the sentence's end. */
function rewriteMarks(
  parts: readonly MarkedText[],
  supported: readonly number[],
  form: CitationStyle | undefined,
): readonly TextReplacement[] {
  const replacements: TextReplacement[] = [];
  const writtenIndexes = new Set<number>();
  for (const { text, marks } of parts) {
    if (!marks) {
      replacements.push({ text, output: text });
      continue;
    }
    const supportedMarks = form === 'attached' ? [] : marks.filter((index) => supported.includes(index));
    const isAll = form === undefined && supportedMarks.length === marks.length;
    const unwritten =
      form === undefined ? supportedMarks : supportedMarks.filter((index) => !writtenIndexes.has(index));
    for (const index of unwritten) writtenIndexes.add(index);
    const output = isAll
      ? text
      : unwritten.map((index) => formatMark(index, form === 'ref-number' ? form : 'number')).join('');
    if (output === '') dropTrailingBlanks(replacements);
    replacements.push({ text, output });
  }
  const unwrittenAtEnd =
    form === undefined || form === 'attached' ? [] : supported.filter((index) => !writtenIndexes.has(index));
  if (unwrittenAtEnd.length > 0 && form !== undefined && form !== 'attached')
    insertBeforeStop(replacements, unwrittenAtEnd.map((index) => formatMark(index, form)).join(''));
  return replacements;
}

/** Removes the blanks before a removed mark. */
function dropTrailingBlanks(replacements: TextReplacement[]): void {
  const last = replacements.at(-1);
  if (!last || last.output !== last.text) return;
  const blanks = countTrailingBlanks(last.text);
  if (blanks === 0) return;
  const shortened = last.text.slice(0, -blanks);
  replacements.splice(-1, 1, { text: shortened, output: shortened }, { text: last.text.slice(-blanks), output: '' });
}

/** Inserts a mark before the punctuation that ends the sentence. */
function insertBeforeStop(replacements: TextReplacement[], mark: string): void {
  const at = replacements.findLastIndex(({ output }) => output.trim() !== '');
  const last = replacements[at];
  if (!last) return;
  const end = findStopStart(last.output);
  const [before, after] = [last.text.slice(0, end), last.text.slice(end)];
  const isWhole = last.output === last.text;
  if (!isWhole) return;
  replacements.splice(
    at,
    1,
    { text: before, output: before },
    { text: '', output: mark },
    { text: after, output: after },
  );
}
