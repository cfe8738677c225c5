import type { Language } from './languages.ts';
import { mark, MARK, unmark, unmarkWhatIsThere } from './marks.ts';
import type { Marked } from './marks.ts';
import type { RunText } from './run-text.ts';
import { withMarksWorded, withTermsMarked, withTermsReplaced, withWordings, withoutDoubling } from './term-marks.ts';
import { lackOf, withWantedCase } from './terms.ts';
import type { FoundTerm } from './terms.ts';
import { tidyAnswer } from './tidy-answer.ts';

/** What is put to the model for one segment. */
export interface Attempt {
  readonly text: string;
  readonly hasMarks: boolean;
  readonly terms: readonly FoundTerm[];
  readonly hasWordings: boolean;
  readonly kept: readonly string[];
  /** An answer was empty or the text itself. */
  readonly isRepeated: boolean;
}

export interface SegmentNeeds {
  readonly target: Language;
  readonly findTerms: (text: string) => readonly FoundTerm[];
  /** The text's; absent: nobody knows. */
  readonly source: Language | undefined;
  /** @param spent Tokens of the caller's limit that parts before this took. */
  readonly run: (attempt: Attempt, spent: number) => Promise<RunText>;
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
  /** No answer said anything: the text is the source's. */
  readonly isUntranslated: boolean;
}

interface Candidate extends SegmentResult {
  /** It is neither empty nor what was asked. */
  readonly isSaid: boolean;
  /** Places of terms that lack their wording. */
  readonly lacking: number;
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
  const isForeign = needs.source?.code !== needs.target.code;
  const attempt = async ({ tidied = asItIs, ...asked }: Again): Promise<Candidate> => {
    const put = { text: source, hasMarks, terms: found, hasWordings: false, kept: [], isRepeated: false, ...asked };
    const answer = await needs.run(put, 0);
    const said = tidyAnswer(answer.text, source);
    return {
      ...judge(withWantedCase(tidied(said), found), marked, found),
      isSaid: said !== '' && !(isForeign && isEcho(said, put, source)),
      isCut: answer.reason === 'length',
      tokens: answer.usage.completionTokens,
    };
  };

  let best = await attempt({});
  const retry = async (asked: Again): Promise<void> => {
    const other = await attempt(asked);
    if (isBetter(other, best)) best = other;
  };
  if (!best.isSaid && !best.isCut) await retry({ isRepeated: true });
  for (const again of AGAIN) {
    // What a limit cut off would be cut off again.
    if (best.missed.length === 0 || best.isCut) break;
    await retry(again(best.missed, { found, marked, target: needs.target }));
  }
  if (hasMarks && !(best.isWhole && best.isSaid) && !best.isCut) {
    const other = await byParts(marked, found, needs);
    if (isBetter(other, best)) best = other;
  }
  if (best.text !== '' || best.isCut) return best;
  return { ...best, ...judge(source, marked, found), isUntranslated: true };
}

const asItIs = (line: string): string => line;

/** An answer that is what was asked, though that has words of its own beside what was to stay. */
function isEcho(said: string, { text, terms, kept }: Attempt, source: string): boolean {
  if (tidyBlanks(said) !== tidyBlanks(text) && tidyBlanks(said) !== tidyBlanks(source)) return false;
  let rest = text.replaceAll(MARK, '');
  for (const word of [...kept, ...terms.map(({ target }) => target)]) rest = rest.replaceAll(word, '');
  return /\p{L}/u.test(rest);
}

const tidyBlanks = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

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
): Omit<Candidate, 'isSaid' | 'isCut' | 'tokens'> {
  const restored = unmark(text, marked);
  const { missed, places } = lackOf(text, found);
  return {
    text: restored ?? unmarkWhatIsThere(text, marked),
    isWhole: restored !== undefined && text !== '',
    found,
    missed,
    lacking: places,
    isUntranslated: false,
  };
}

function isBetter(one: Candidate, other: Candidate): boolean {
  if (one.isCut !== other.isCut) return other.isCut;
  if (one.isWhole !== other.isWhole) return one.isWhole;
  if (one.isSaid !== other.isSaid) return one.isSaid;
  if (one.missed.length !== other.missed.length) return one.missed.length < other.missed.length;
  return one.lacking < other.lacking;
}

/** What stands between the protected parts, each translated by itself, and the protected parts as they are. */
async function byParts({ parts }: Marked, found: readonly FoundTerm[], needs: SegmentNeeds): Promise<Candidate> {
  let text = '';
  let said = '';
  let isCut = false;
  let isSaid = false;
  let tokens = 0;
  const run = (attempt: Attempt, spent: number): Promise<RunText> => needs.run(attempt, spent + tokens);
  for (const part of parts) {
    const core = part.text.trim();
    if (part.isProtected || isCut || !/\p{L}/u.test(core)) {
      text += part.text;
      continue;
    }
    const translated = await translateSegment(core, { ...needs, run });
    const start = part.text.indexOf(core);
    text += part.text.slice(0, start) + translated.text + part.text.slice(start + core.length);
    said += `${translated.text}\n`;
    isCut = translated.isCut;
    isSaid ||= translated.text !== core;
    tokens += translated.tokens;
  }
  const { missed, places } = lackOf(said, found);
  return { text, found, missed, lacking: places, isCut, isSaid, isWhole: !isCut, tokens, isUntranslated: !isSaid };
}
