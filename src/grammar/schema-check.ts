import type { JsonSchema } from '../core/grammar.ts';
import { CheckLimitError } from './check-limit-error.ts';
import { createKeywordReader } from './conjunctions.ts';
import type { LanguageCache } from './language-cache.ts';
import { createLanguageFactory } from './language-factory.ts';
import { createSchemaDocument } from './schema-document.ts';
import { createValidator } from './validator.ts';

/**
 * Creates a check of values against all keywords of a schema, including those that a grammar has enforced. The check
 * returns the problem, which begins with its path (`$.a[0]`), or undefined. A value that takes too long is a problem,
 * too.
 *
 * @param cache Automata that are shared between schemas.
 * @throws GrammarError, here or from the check, for a schema that `compileGrammar` rejects.
 */
export function createSchemaCheck(
  schema: JsonSchema,
  field = 'schema',
  cache?: LanguageCache,
): (value: unknown) => string | undefined {
  const document = createSchemaDocument(schema, field);
  const getKeywords = createKeywordReader(document);
  const validator = createValidator({ document, getKeywords, languages: createLanguageFactory(document, { cache }) });
  return (value) => {
    try {
      return validator.findProblem(schema, value);
    } catch (error) {
      if (error instanceof CheckLimitError) return `$ ${error.message}`;
      throw error;
    }
  };
}
