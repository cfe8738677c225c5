import { AUTOMATA_WORK_MAX, GRAMMAR_LANGUAGES_MAX, PROPERTY_STEPS } from '../core/limits.ts';
import { anyText, type Automaton, AutomatonLimitError } from './automaton.ts';
import { fromFormat, hasFormat } from './formats.ts';
import { GrammarError } from './grammar-error.ts';
import { createLanguageMemory, type LanguageMemory } from './language-memory.ts';
import { fromNumbers, type NumberRange } from './number-range.ts';
import { fromPattern, PatternError } from './pattern.ts';
import type { SchemaDocument } from './schema-document.ts';
import { createWork, type Work } from './work.ts';

/** The sets of texts in a document, each worked out once. `path` is for refusals. */
export interface Languages {
  pattern(source: string, path: string): Automaton;
  /** Undefined for a format that is not known. */
  format(name: string, path: string): Automaton | undefined;
  /** Of numbers in this range, as JSON text. @throws RangeError as `fromNumbers` does. */
  numbers(range: NumberRange): Automaton;
  /** What `make` makes; for the same key the same. Where it would become too large a refusal, which begins with `what`. */
  make(key: string, place: { readonly path: string; readonly what: string }, make: () => Automaton): Automaton;
  /** For what is made with automata of these. */
  readonly work: Work;
}

export interface LanguagesOptions {
  /** What other schemas have left; otherwise this one begins with nothing. */
  readonly memory?: LanguageMemory | undefined;
  /** Of all schemas in a grammar. */
  readonly work?: Work;
}

/** A text that looks like one, behind another backslash, is counted too. */
const PROPERTY = /\\[pP]\{[^}]*\}/g;

export function createLanguages(
  document: SchemaDocument,
  { memory = createLanguageMemory(), work = createWork(AUTOMATA_WORK_MAX) }: LanguagesOptions = {},
): Languages {
  const needs = { work, propertySet: memory.propertySet };
  const properties = new Set<string>();
  const made = new Map<string, Automaton>();

  const make: Languages['make'] = (key, { path, what }, make) => {
    const known = made.get(key);
    if (known) return known;
    if (made.size === GRAMMAR_LANGUAGES_MAX)
      throw document.refusal(path, `The schema has more than ${GRAMMAR_LANGUAGES_MAX} patterns and ranges`);
    try {
      const language = make();
      made.set(key, language);
      return language;
    } catch (error) {
      if (error instanceof PatternError || error instanceof AutomatonLimitError)
        throw document.refusal(path, `${what} ${error.message}`);
      // Number ranges say with this class what cannot be told in rules.
      if (error instanceof RangeError && !(error instanceof GrammarError)) throw document.refusal(path, error.message);
      throw error;
    }
  };

  /** Whether they are remembered or not, so that it makes no difference. */
  function countProperties(source: string): void {
    for (const [property] of source.matchAll(PROPERTY)) {
      if (properties.has(property)) continue;
      properties.add(property);
      work.add(PROPERTY_STEPS);
    }
  }

  return {
    make,
    pattern: (source, path) =>
      make(`pattern ${source}`, { path, what: 'pattern' }, () => {
        countProperties(source);
        return memory.automaton(`pattern ${source}`, work, () => fromPattern(source, needs));
      }),
    format(name, path) {
      if (!hasFormat(name)) return undefined;
      return make(`format ${name}`, { path, what: 'format' }, () =>
        memory.automaton(`format ${name}`, work, () => fromFormat(name, needs) ?? anyText()),
      );
    },
    numbers: (range) => memory.automaton(`numbers ${JSON.stringify(range)}`, work, () => fromNumbers(range, work)),
    work,
  };
}
