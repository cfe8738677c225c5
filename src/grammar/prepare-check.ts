import type { JsonSchema } from '../core/grammar.ts';
import { CheckLimitError } from './check-limit-error.ts';
import { EXPANSION_DEPTH_MAX } from './conjunctions.ts';
import type { Keywords } from './keywords.ts';
import type { Languages } from './languages.ts';
import type { SchemaDocument, SchemaObject } from './schema-document.ts';
import type { Validator } from './validator.ts';

export interface PrepareNeeds {
  readonly document: SchemaDocument;
  keywordsOf(schema: SchemaObject): Keywords;
  readonly languages: Languages;
  readonly prepare: Validator['prepare'];
}

/**
 * Looks at all schemas that the check of a value can come to: also those that no grammar is made of, below `not`, `if`,
 * `contains` and the like. What is let through can be checked after the answer, without a refusal then.
 *
 * @throws GrammarError for a schema that is malformed, not supported, or beyond a limit, or that refers to itself.
 */
export function prepareCheck(root: JsonSchema, { document, keywordsOf, languages, prepare }: PrepareNeeds): void {
  /** How many schemas look at the same value, one because of the other. */
  const heights = new Map<SchemaObject, number | 'under way'>();
  const waiting: JsonSchema[] = [root];

  function heightOf(schema: JsonSchema, depth: number): number {
    if (typeof schema === 'boolean') return 0;
    const known = heights.get(schema);
    if (typeof known === 'number') return known;
    const keywords = keywordsOf(schema);
    const { path } = keywords;
    if (known === 'under way') throw document.refusal(path, 'The schema refers to itself without any value between');
    heights.set(schema, 'under way');
    prepareOwn(keywords);
    waiting.push(...schemasOfParts(keywords));
    let height = 0;
    if (depth < EXPANSION_DEPTH_MAX)
      for (const inner of schemasOfSame(keywords)) height = Math.max(height, 1 + heightOf(inner, depth + 1));
    if (Math.max(depth, height) >= EXPANSION_DEPTH_MAX)
      throw document.refusal(path, `References and combinations are nested more than ${EXPANSION_DEPTH_MAX} deep`);
    heights.set(schema, height);
    return height;
  }

  function prepareOwn(keywords: Keywords): void {
    const { path, pattern, format, patternProperties } = keywords;
    for (const each of [...(pattern === undefined ? [] : [pattern]), ...(patternProperties?.keys() ?? [])])
      languages.pattern(each, path);
    if (format !== undefined) languages.format(format, path);
    try {
      prepare(keywords);
    } catch (error) {
      if (error instanceof CheckLimitError) throw document.refusal(path, `What enum or const allows ${error.message}`);
      throw error;
    }
  }

  // The list grows while it is read.
  for (const schema of waiting) heightOf(schema, 0);
}

/** What is said of the same value; a schema of these that leads to itself would never be done. */
function* schemasOfSame(keywords: Keywords): Generator<JsonSchema> {
  const { target, not, condition, whenTrue, whenFalse, dependentSchemas } = keywords;
  for (const each of [target, not, condition]) if (each !== undefined) yield each;
  // Without an `if` they say nothing.
  if (condition !== undefined) for (const each of [whenTrue, whenFalse]) if (each !== undefined) yield each;
  for (const list of [keywords.allOf, keywords.anyOf, keywords.oneOf]) yield* list ?? [];
  yield* dependentSchemas?.values() ?? [];
}

/** What is said of values inside, and of names. */
function* schemasOfParts(keywords: Keywords): Generator<JsonSchema> {
  const { items, contains, additionalProperties, propertyNames } = keywords;
  for (const each of [items, contains, additionalProperties, propertyNames]) if (each !== undefined) yield each;
  yield* keywords.prefixItems ?? [];
  yield* keywords.properties?.values() ?? [];
  yield* keywords.patternProperties?.values() ?? [];
}
