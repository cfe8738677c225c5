import type { JsonSchema } from '../core/grammar.ts';
import { CheckLimitError } from './check-limit-error.ts';
import { createExpander } from './conjunctions.ts';
import type { LanguageMemory } from './language-memory.ts';
import { createLanguages } from './languages.ts';
import { createDocument } from './schema-document.ts';
import { createValidator } from './validator.ts';

/**
 * Checks a whole value, all keywords, also those that a grammar has enforced. The check says what is wrong with a value,
 * beginning with the place (`$.a[0]`), or undefined; a value that takes too long to check is wrong too.
 *
 * @param memory What is kept for the schemas to come.
 * @throws GrammarError, here or from the check, for a schema that `compileGrammar` refuses.
 */
export function createCheck(
  schema: JsonSchema,
  field = 'schema',
  memory?: LanguageMemory,
): (value: unknown) => string | undefined {
  const document = createDocument(schema, field);
  const { keywordsOf } = createExpander(document);
  const validator = createValidator({ keywordsOf, languages: createLanguages(document, { memory }) });
  return (value) => {
    try {
      return validator.problemOf(schema, value);
    } catch (error) {
      if (error instanceof CheckLimitError) return `$ ${error.message}`;
      throw error;
    }
  };
}
