import { AUTOMATA_WORK_MAX, GRAMMAR_LANGUAGES_MAX, CHARACTER_PROPERTY_STEPS } from './limits.ts';
import { createAnyTextAutomaton, type Automaton, AutomatonLimitError } from './automaton.ts';
import { formatToAutomaton, hasFormat } from './format-to-automaton.ts';
import { GrammarError } from './grammar-error.ts';
import { createLanguageCache, type LanguageCache } from './language-cache.ts';
import { numberRangeToAutomaton, type NumberRange } from './number-range.ts';
import { patternToAutomaton, PatternError } from './pattern-to-automaton.ts';
import type { SchemaDocument } from './schema-document.ts';
import { createWorkBudget, type WorkBudget } from './work-budget.ts';

/** Creates the languages (sets of texts) of one schema, each once. `path` is for error messages. */
export interface LanguageFactory {
  getPatternLanguage(source: string, path: string): Automaton;
  /** Returns undefined for an unknown format. */
  getFormatLanguage(name: string, path: string): Automaton | undefined;
  /** Returns the numbers of a range as JSON text. @throws RangeError as `numberRangeToAutomaton` does. */
  getNumberLanguage(range: NumberRange): Automaton;
  /**
   * Returns the language with this key, created on first use. An error of `create` is reported with `what` as subject.
   */
  getLanguage(
    key: string,
    subject: { readonly path: string; readonly what: string },
    create: () => Automaton,
  ): Automaton;
  /** Budget for further work with these automata. */
  readonly work: WorkBudget;
}

export interface LanguageFactoryOptions {
  /** Automata that are shared between schemas. Default: an empty cache. */
  readonly cache?: LanguageCache | undefined;
  /** Budget shared by all schemas of a grammar. */
  readonly work?: WorkBudget;
}

/** Also matches text of this form after an escaped backslash, which then counts as well. */
const PROPERTY = /\\[pP]\{[^}]*\}/g;

export function createLanguageFactory(
  document: SchemaDocument,
  { cache = createLanguageCache(), work = createWorkBudget(AUTOMATA_WORK_MAX) }: LanguageFactoryOptions = {},
): LanguageFactory {
  const patternDeps = { work, getPropertySet: cache.getPropertySet };
  const properties = new Set<string>();
  const languageByKey = new Map<string, Automaton>();

  const getLanguage: LanguageFactory['getLanguage'] = (key, { path, what }, create) => {
    const cached = languageByKey.get(key);
    if (cached) return cached;
    if (languageByKey.size === GRAMMAR_LANGUAGES_MAX)
      throw document.createError(path, `The schema has more than ${GRAMMAR_LANGUAGES_MAX} patterns and ranges`);
    try {
      const language = create();
      languageByKey.set(key, language);
      return language;
    } catch (error) {
      if (error instanceof PatternError || error instanceof AutomatonLimitError) {
        // A pattern that is too large for an automaton cannot be checked either: the check is prepared before the grammar.
        const isGrammarLimit = error instanceof AutomatonLimitError;
        throw document.createError(path, `${what} ${error.message}`, { isGrammarLimit });
      }
      // `numberRangeToAutomaton` throws this class for ranges that rules cannot express.
      if (error instanceof RangeError && !(error instanceof GrammarError))
        throw document.createError(path, error.message);
      throw error;
    }
  };

  /** Counts the character properties of a pattern, whether they are cached or not, so that the cache has no effect. */
  function countProperties(source: string): void {
    for (const [property] of source.matchAll(PROPERTY)) {
      if (properties.has(property)) continue;
      properties.add(property);
      work.add(CHARACTER_PROPERTY_STEPS);
    }
  }

  return {
    getLanguage,
    getPatternLanguage: (source, path) =>
      getLanguage(`pattern ${source}`, { path, what: 'pattern' }, () => {
        countProperties(source);
        return cache.getAutomaton(`pattern ${source}`, work, () => patternToAutomaton(source, patternDeps));
      }),
    getFormatLanguage(name, path) {
      if (!hasFormat(name)) return undefined;
      return getLanguage(`format ${name}`, { path, what: 'format' }, () =>
        cache.getAutomaton(
          `format ${name}`,
          work,
          () => formatToAutomaton(name, patternDeps) ?? createAnyTextAutomaton(),
        ),
      );
    },
    getNumberLanguage: (range) =>
      cache.getAutomaton(`numbers ${JSON.stringify(range)}`, work, () => numberRangeToAutomaton(range, work)),
    work,
  };
}
