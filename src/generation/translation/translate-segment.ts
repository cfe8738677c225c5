import type { Language } from './languages.ts';
import { markProtected, MARK, restoreMarks, restoreAvailableMarks, type ProtectedText } from './marks.ts';
import type { TextResult } from './collect-text.ts';
import { restoreTermMarks, markTerms, replaceTerms, appendWordings, removeDuplicateWordings } from './rewrite-terms.ts';
import { findMissingWordings, restoreWordingCase, type TermOccurrence } from './terms.ts';
import { extractTranslation } from './extract-translation.ts';
import { countProblems, findProblems, type TranslationProblems } from './checks/find-problems.ts';

/** Input of one model run for a segment. */
export interface SegmentAttempt {
  readonly text: string;
  readonly hasMarks: boolean;
  readonly terms: readonly TermOccurrence[];
  readonly hasWordings: boolean;
  readonly keptWords: readonly string[];
  /** An earlier answer was empty or stayed in the source language. */
  readonly isRetry: boolean;
  /** Sentences about the faults of an earlier answer, for the instruction. */
  readonly corrections: readonly string[];
}

export interface SegmentDeps {
  readonly target: Language;
  readonly findTerms: (text: string) => readonly TermOccurrence[];
  /** Source language; undefined when unknown. */
  readonly source: Language | undefined;
  /** @param usedTokens Tokens of the caller's limit that earlier parts of the segment used. */
  readonly run: (attempt: SegmentAttempt, usedTokens: number) => Promise<TextResult>;
}

export interface SegmentResult {
  readonly text: string;
  readonly terms: readonly TermOccurrence[];
  /** Terms whose required wording the translation does not show. */
  readonly missingTerms: readonly TermOccurrence[];
  /** A token limit cut the translation. */
  readonly isTruncated: boolean;
  /** Tokens of the accepted answers, without rejected attempts. */
  readonly tokens: number;
  /** No answer was usable, so that the text is the source; or it stayed in the source language. */
  readonly isUntranslated: boolean;
  readonly problems: Omit<TranslationProblems, 'isUntranslated'>;
}

interface SegmentCandidate extends SegmentResult {
  /** The answer is neither empty nor in the source language. */
  readonly isTranslated: boolean;
  /** Number of missing required wordings. */
  readonly missingWordings: number;
  /** Every protected part occurs as often as in the source. */
  readonly hasAllMarks: boolean;
}

/**
 * Translates and checks one segment: protected parts must be intact, and terms must show their wordings. Missing
 * wordings are retried: as brackets after their terms, then in place of the terms, then as marks. A wrong number or unit
 * and a repeated term are retried once. If the model still drops protected parts, the text between them is translated part
 * by part. Returns the best attempt.
 */
export async function translateSegment(text: string, deps: SegmentDeps): Promise<SegmentResult> {
  const marked = markProtected(text);
  const source = marked.text;
  const occurrences = deps.findTerms(source);
  const hasMarks = marked.originals.length > 0;
  const isForeign = deps.source?.code !== deps.target.code;
  const evaluate = (translation: string): AnswerEvaluation => evaluateAnswer(translation, marked, occurrences, deps);
  const attempt = async ({ cleanUp = keepLine, ...retryOptions }: RetryOptions): Promise<SegmentCandidate> => {
    const fullAttempt = {
      text: source,
      hasMarks,
      terms: occurrences,
      hasWordings: false,
      keptWords: [],
      isRetry: false,
      corrections: [],
      ...retryOptions,
    };
    const answer = await deps.run(fullAttempt, 0);
    const translation = extractTranslation(answer.text, source);
    const { isUntranslated, ...evaluation } = evaluate(restoreWordingCase(cleanUp(translation), occurrences));
    const isSource = isForeign && isEcho(translation, fullAttempt, source);
    return {
      ...evaluation,
      isUntranslated: false,
      isTranslated: translation !== '' && !isSource && !isUntranslated,
      isTruncated: answer.reason === 'length',
      tokens: answer.usage.completionTokens,
    };
  };

  let best = await attempt({});
  const retry = async (retryOptions: RetryOptions): Promise<void> => {
    const other = await attempt(retryOptions);
    if (isBetter(other, best)) best = other;
  };
  if (!best.isTranslated && !best.isTruncated) await retry({ isRetry: true });
  for (const createRetry of RETRIES) {
    // A token limit would cut the retry as well.
    if (best.missingTerms.length === 0 || best.isTruncated) break;
    await retry(createRetry(best.missingTerms, { found: occurrences, marked, target: deps.target }));
  }
  const corrections = createCorrections(best.problems);
  if (corrections.length > 0 && best.isTranslated && !best.isTruncated) await retry({ corrections });
  if (hasMarks && !(best.hasAllMarks && best.isTranslated) && !best.isTruncated) {
    const other = await translateParts(marked, occurrences, deps);
    if (isBetter(other, best)) best = other;
  }
  if (best.text !== '' || best.isTruncated) return { ...best, isUntranslated: !best.isTranslated && best.text !== '' };
  return { ...best, ...evaluate(source), isUntranslated: true };
}

/** Tells the model which faults its last answer had. */
const createCorrections = ({ numbers, repeatedTerms }: SegmentResult['problems']): readonly string[] => [
  ...(numbers === undefined
    ? []
    : [`Write all numbers and units as in the text${numbers.length > 0 ? `: ${numbers.join(', ')}` : ''}.`]),
  ...repeatedTerms.map(({ target }) => `Write "${target}" only where it belongs, and not twice.`),
];

const keepLine = (line: string): string => line;

/** Whether the answer repeats the source, although the source has words to translate. */
function isEcho(candidate: string, { text, terms, keptWords }: SegmentAttempt, source: string): boolean {
  if (normalizeSpaces(candidate) !== normalizeSpaces(text) && normalizeSpaces(candidate) !== normalizeSpaces(source))
    return false;
  let rest = text.replaceAll(MARK, '');
  for (const word of [...keptWords, ...terms.map(({ target }) => target)]) rest = rest.replaceAll(word, '');
  return /\p{L}/u.test(rest);
}

const normalizeSpaces = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

interface RetryOptions extends Partial<SegmentAttempt> {
  /** Removes the additions of the retry from its answer. */
  readonly cleanUp?: (line: string) => string;
}

type CreateRetry = (
  missing: readonly TermOccurrence[],
  segment: { readonly found: readonly TermOccurrence[]; readonly marked: ProtectedText; readonly target: Language },
) => RetryOptions;

/**
 * Retries for missing wordings, from the one that leaves the model the most freedom to the one that leaves it the
 * least.
 */
const RETRIES: readonly CreateRetry[] = [
  (missed, { marked, target }) => ({
    text: appendWordings(marked.text, missed),
    hasWordings: true,
    cleanUp: (line) => removeDuplicateWordings(line, missed, target),
  }),
  (missed, { found, marked }) => ({
    text: replaceTerms(marked.text, missed),
    terms: found.filter((term) => !missed.includes(term)),
    keptWords: missed.map((term) => term.target),
  }),
  // Marks all terms: with an instruction for only some, a small model forgets the marks of the others.
  (_, { found, marked }) => ({
    text: markTerms(marked.text, found, marked.originals.length),
    hasMarks: true,
    terms: [],
    cleanUp: (line) => restoreTermMarks(line, found, marked.originals.length),
  }),
];

type AnswerEvaluation = Omit<SegmentCandidate, 'isTranslated' | 'isTruncated' | 'tokens'>;

function evaluateAnswer(
  text: string,
  marked: ProtectedText,
  found: readonly TermOccurrence[],
  { source: from, target: to }: SegmentDeps,
): AnswerEvaluation {
  const restored = restoreMarks(text, marked);
  const { terms, count } = findMissingWordings(text, found);
  const { isUntranslated, ...problems } = findProblems({
    source: marked.text,
    translation: text,
    terms: found,
    from,
    to,
  });
  return {
    text: restored ?? restoreAvailableMarks(text, marked),
    hasAllMarks: restored !== undefined && text !== '',
    terms: found,
    missingTerms: terms,
    missingWordings: count,
    isUntranslated,
    problems,
  };
}

function isBetter(one: SegmentCandidate, other: SegmentCandidate): boolean {
  if (one.isTruncated !== other.isTruncated) return other.isTruncated;
  if (one.hasAllMarks !== other.hasAllMarks) return one.hasAllMarks;
  if (one.isTranslated !== other.isTranslated) return one.isTranslated;
  if (one.missingTerms.length !== other.missingTerms.length) return one.missingTerms.length < other.missingTerms.length;
  if (one.missingWordings !== other.missingWordings) return one.missingWordings < other.missingWordings;
  return countProblems(one.problems) < countProblems(other.problems);
}

/** Translates the text between protected parts part by part, and copies the protected parts. */
async function translateParts(
  { parts }: ProtectedText,
  found: readonly TermOccurrence[],
  deps: SegmentDeps,
): Promise<SegmentCandidate> {
  let text = '';
  let translatedText = '';
  let isCut = false;
  let hasOutput = false;
  let tokens = 0;
  const run = (attempt: SegmentAttempt, usedTokens: number): Promise<TextResult> =>
    deps.run(attempt, usedTokens + tokens);
  for (const part of parts) {
    const core = part.text.trim();
    if (part.isProtected || isCut || !/\p{L}/u.test(core)) {
      text += part.text;
      if (!part.isProtected) translatedText += part.text;
      continue;
    }
    const translated = await translateSegment(core, { ...deps, run });
    const start = part.text.indexOf(core);
    text += part.text.slice(0, start) + translated.text + part.text.slice(start + core.length);
    translatedText += `${translated.text}\n`;
    isCut = translated.isTruncated;
    hasOutput ||= translated.text !== core;
    tokens += translated.tokens;
  }
  const { terms, count } = findMissingWordings(translatedText, found);
  const source = parts.map((part) => (part.isProtected ? ' ' : part.text)).join('');
  const { isUntranslated, ...problems } = findProblems({
    source,
    translation: translatedText,
    terms: found,
    from: deps.source,
    to: deps.target,
  });
  return {
    text,
    terms: found,
    missingTerms: terms,
    missingWordings: count,
    isTruncated: isCut,
    isTranslated: hasOutput && !isUntranslated,
    problems,
    hasAllMarks: !isCut,
    tokens,
    isUntranslated: !hasOutput,
  };
}
