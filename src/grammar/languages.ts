import { GRAMMAR_LANGUAGES_MAX } from '../core/limits.ts';
import type { Automaton } from './automaton.ts';
import { fromFormat } from './formats.ts';
import { GrammarError } from './grammar-error.ts';
import { fromPattern } from './pattern.ts';
import type { SchemaDocument } from './schema-document.ts';

/** The sets of texts in a document, each worked out once. `path` is for refusals. */
export interface Languages {
  pattern(source: string, path: string): Automaton;
  /** Undefined for a format that is not known. */
  format(name: string): Automaton | undefined;
  /** What `make` makes; for the same key the same. A refusal where it would become too large. */
  make(key: string, path: string, make: () => Automaton): Automaton;
}

export function createLanguages(document: SchemaDocument): Languages {
  const made = new Map<string, Automaton>();
  const formats = new Map<string, Automaton | undefined>();

  function make(key: string, path: string, make: () => Automaton): Automaton {
    const known = made.get(key);
    if (known) return known;
    if (made.size === GRAMMAR_LANGUAGES_MAX)
      throw document.refusal(path, `The schema has more than ${GRAMMAR_LANGUAGES_MAX} patterns and ranges`);
    try {
      const language = make();
      made.set(key, language);
      return language;
    } catch (error) {
      // Patterns, formats, lengths and number ranges say with this class what cannot be told in rules.
      if (error instanceof RangeError && !(error instanceof GrammarError)) throw document.refusal(path, error.message);
      throw error;
    }
  }

  return {
    make,
    pattern: (source, path) => make(`pattern ${source}`, path, () => fromPattern(source)),
    format(name) {
      if (!formats.has(name)) formats.set(name, fromFormat(name));
      return formats.get(name);
    },
  };
}
