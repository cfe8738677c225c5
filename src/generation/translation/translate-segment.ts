import type { Language } from './languages.ts';
import { mark, unmark, unmarkWhatIsThere } from './marks.ts';
import type { Marked } from './marks.ts';
import type { RunText } from './run-text.ts';
import { withMarksWorded, withTermsMarked, withTermsReplaced, withWordings, withoutDoubling } from './term-marks.ts';
import { showsWording, withWantedCase } from './terms.ts';
import type { FoundTerm } from './terms.ts';
import { tidyAnswer } from './tidy-answer.ts';

/** What is put to the model for one segment. */
export interface Attempt {
  readonly text: string;
  readonly hasMarks: boolean;
  readonly terms: readonly FoundTerm[];
  readonly hasWordings: boolean;
  readonly kept: readonly string[];
}

export interface SegmentNeeds {
  readonly target: Language;
  readonly findTerms: (text: string) => readonly FoundTerm[];
  readonly run: (attempt: Attempt) => Promise<RunText>;
}

export interface SegmentResult {
  readonly text: string;
  readonly found: readonly FoundTerm[];
  /** Of these, those whose wording it does not show. */
  readonly missed: readonly FoundTerm[];
  /** A token limit ended it. */
  readonly isCut: boolean;
  /** Tokens of the answers that it is made of, without those of attempts that were not taken. */
  readonly tokens: number;
}

interface Candidate extends SegmentResult {
  /** Every protected part is there as often as before. */
  readonly isWhole: boolean;
}

/**
 * One segment, verified: protected parts are there exactly, terms show their wordings. What the model leaves out is tried
 * again: the wanted wordings in brackets behind their terms, then in their place, then as marks. Protected parts that it still drops are
 * kept by translating what stands between them part by part. Of the attempts the best is taken.
 */
export async function translateSegment(text: string, needs: SegmentNeeds): Promise<SegmentResult> {
  const marked = mark(text);
  const source = marked.text;
  const found = needs.findTerms(source);
  const hasMarks = marked.originals.length > 0;
  const attempt = async (asked: Partial<Attempt>, tidied = (line: string): string => line): Promise<Candidate> => {
    const answer = await needs.run({ text: source, hasMarks, terms: found, hasWordings: false, kept: [], ...asked });
    const line = withWantedCase(tidied(tidyAnswer(answer.text, source)), found);
    return {
      ...judge(line, marked, found),
      isCut: answer.reason === 'length',
      tokens: answer.usage.completionTokens,
    };
  };

  let best = await attempt({});
  for (const again of AGAIN) {
    // What a limit cut off would be cut off again.
    if (best.missed.length === 0 || best.isCut) break;
    const { missed } = best;
    const { tidied, ...asked } = again(missed, { found, marked, target: needs.target });
    const other = await attempt(asked, tidied);
    if (isBetter(other, best)) best = other;
  }
  if (hasMarks && !best.isWhole && !best.isCut) {
    const other = await byParts(marked, found, needs);
    if (isBetter(other, best)) best = other;
  }
  return best;
}

interface Again extends Partial<Attempt> {
  /** What is taken out of the answer again. */
  readonly tidied?: (line: string) => string;
}

type AskAgain = (
  missed: readonly FoundTerm[],
  segment: { readonly found: readonly FoundTerm[]; readonly marked: Marked; readonly target: Language },
) => Again;

/** Ways to ask for wordings that were missed, from the one that leaves the model most to the one that leaves it least. */
const AGAIN: readonly AskAgain[] = [
  (missed, { marked, target }) => ({
    text: withWordings(marked.text, missed),
    hasWordings: true,
    tidied: (line) => withoutDoubling(line, missed, target),
  }),
  (missed, { found, marked }) => ({
    text: withTermsReplaced(marked.text, missed),
    terms: found.filter((term) => !missed.includes(term)),
    kept: missed.map((term) => term.target),
  }),
  // All of them: told of some terms, a small model forgets the marks of the others.
  (_, { found, marked }) => ({
    text: withTermsMarked(marked.text, found, marked.originals.length),
    hasMarks: true,
    terms: [],
    tidied: (line) => withMarksWorded(line, found, marked.originals.length),
  }),
];

function judge(
  text: string,
  marked: Marked,
  found: readonly FoundTerm[],
): Pick<Candidate, 'text' | 'isWhole' | 'found' | 'missed'> {
  const restored = unmark(text, marked);
  return {
    text: restored ?? unmarkWhatIsThere(text, marked),
    isWhole: restored !== undefined && text !== '',
    found,
    missed: found.filter(({ target }) => !showsWording(text, target)),
  };
}

function isBetter(one: Candidate, other: Candidate): boolean {
  if (one.isCut !== other.isCut) return other.isCut;
  if (one.isWhole !== other.isWhole) return one.isWhole;
  return one.missed.length < other.missed.length;
}

/** What stands between the protected parts, each translated by itself, and the protected parts as they are. */
async function byParts({ parts }: Marked, found: readonly FoundTerm[], needs: SegmentNeeds): Promise<Candidate> {
  let text = '';
  let said = '';
  let isCut = false;
  let tokens = 0;
  for (const part of parts) {
    const core = part.text.trim();
    if (part.isProtected || isCut || !/\p{L}/u.test(core)) {
      text += part.text;
      continue;
    }
    const translated = await translateSegment(core, needs);
    const start = part.text.indexOf(core);
    text += part.text.slice(0, start) + translated.text + part.text.slice(start + core.length);
    said += `${translated.text}\n`;
    isCut = translated.isCut;
    tokens += translated.tokens;
  }
  const missed = found.filter(({ target }) => !showsWording(said, target));
  return { text, found, missed, isCut, isWhole: !isCut, tokens };
}
