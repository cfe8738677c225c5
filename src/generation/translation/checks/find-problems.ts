import type { Language } from '../languages.ts';
import { MARK } from '../marks.ts';
import { countWordings, type TermOccurrence } from '../terms.ts';
import { findNumberProblem } from './find-number-problem.ts';
import { staysInSourceLanguage } from './stays-in-source-language.ts';

/** Faults of a translation that need no knowledge of its meaning. */
export interface TranslationProblems {
  /** Most words are words of the source. */
  readonly isUntranslated: boolean;
  /** Numbers of the source that the translation lacks or has with another unit; empty for an invented number. */
  readonly numbers: readonly string[] | undefined;
  /** Terms whose wording occurs more often than the terms. */
  readonly repeatedTerms: readonly TermOccurrence[];
}

export interface CheckedTranslation {
  /** Both texts may have marks of protected parts. */
  readonly source: string;
  readonly translation: string;
  readonly terms: readonly TermOccurrence[];
  readonly from: Language | undefined;
  readonly to: Language;
}

export function findProblems(checked: CheckedTranslation): TranslationProblems {
  const { terms, from, to } = checked;
  const source = checked.source.replaceAll(MARK, ' ');
  const translation = checked.translation.replaceAll(MARK, ' ');
  const wordings = countWordings(translation, terms);
  const kept = terms.map(({ target }) => target);
  return {
    isUntranslated: staysInSourceLanguage(source, translation, { from, to, kept }),
    numbers: findNumberProblem(source, translation),
    repeatedTerms: wordings.filter(({ shown, wanted }) => shown > wanted).flatMap((wording) => wording.terms),
  };
}

/** Counts the faults other than the language. */
export const countProblems = ({ numbers, repeatedTerms }: Omit<TranslationProblems, 'isUntranslated'>): number =>
  Number(numbers !== undefined) + Number(repeatedTerms.length > 0);
