import type { JsonSchema } from '../core/grammar.ts';
import { CheckLimitError } from './check-limit-error.ts';
import type { SchemaKeywords } from './keywords.ts';
import type { LanguageFactory } from './language-factory.ts';
import type { SchemaDocument, SchemaObject } from './schema-document.ts';
import type { Validator } from './validator.ts';
import {
  EXPANSION_DEPTH_MAX,
  createRecursionError,
  createExpansionDepthError,
  createListedValueError,
} from './expansion-errors.ts';

export interface PrepareCheckDeps {
  readonly document: SchemaDocument;
  getKeywords(schema: SchemaObject): SchemaKeywords;
  readonly languages: LanguageFactory;
  readonly prepare: Validator['prepare'];
}

/**
 * Validates all schemas that the check of a value can reach, including those that are not compiled to a grammar: below
 * `not`, `if`, `contains` and similar. The check after the answer then cannot reject the schema.
 *
 * @throws GrammarError for a schema that is malformed, not supported, above a limit, or refers to itself.
 */
export function prepareCheck(root: JsonSchema, { document, getKeywords, languages, prepare }: PrepareCheckDeps): void {
  /** Length of the longest chain of schemas that apply to the same value. */
  const heights = new Map<SchemaObject, number | 'in progress'>();
  const queue: JsonSchema[] = [root];

  function measureHeight(schema: JsonSchema, depth: number): number {
    if (typeof schema === 'boolean') return 0;
    const knownHeight = heights.get(schema);
    if (typeof knownHeight === 'number') return knownHeight;
    const keywords = getKeywords(schema);
    const { path } = keywords;
    if (knownHeight === 'in progress') throw createRecursionError(document, path);
    heights.set(schema, 'in progress');
    prepareKeywords(keywords);
    queue.push(...listSchemasOfParts(keywords));
    let height = 0;
    if (depth < EXPANSION_DEPTH_MAX)
      for (const inner of listSchemasOfSameValue(keywords))
        height = Math.max(height, 1 + measureHeight(inner, depth + 1));
    if (Math.max(depth, height) >= EXPANSION_DEPTH_MAX) throw createExpansionDepthError(document, path);
    heights.set(schema, height);
    return height;
  }

  function prepareKeywords(keywords: SchemaKeywords): void {
    const { path, pattern, patternProperties } = keywords;
    for (const each of [...(pattern === undefined ? [] : [pattern]), ...(patternProperties?.keys() ?? [])])
      languages.getPatternLanguage(each, path);
    try {
      prepare(keywords);
    } catch (error) {
      if (error instanceof CheckLimitError) throw createListedValueError(document, path, error.message);
      throw error;
    }
  }

  // The loop adds schemas to the list while it iterates.
  for (const schema of queue) measureHeight(schema, 0);
}

/** Lists the subschemas that apply to the same value. A cycle among them would never end. */
function* listSchemasOfSameValue(keywords: SchemaKeywords): Generator<JsonSchema> {
  const { target, not, condition, whenTrue, whenFalse, dependentSchemas } = keywords;
  for (const each of [target, not, condition]) if (each !== undefined) yield each;
  // `then` and `else` have no effect without `if`.
  if (condition !== undefined) for (const each of [whenTrue, whenFalse]) if (each !== undefined) yield each;
  for (const list of [keywords.allOf, keywords.anyOf, keywords.oneOf]) yield* list ?? [];
  yield* dependentSchemas?.values() ?? [];
}

/** Lists the subschemas that apply to contained values and to names, and those that `$dynamicRef` may mean. */
function* listSchemasOfParts(keywords: SchemaKeywords): Generator<JsonSchema> {
  const { items, contains, additionalProperties, propertyNames, unevaluatedItems, unevaluatedProperties } = keywords;
  for (const each of [items, contains, additionalProperties, propertyNames, unevaluatedItems, unevaluatedProperties])
    if (each !== undefined) yield each;
  // They apply to the same value, but which one depends on the check, whose depth is limited.
  yield* keywords.dynamic?.candidates ?? [];
  yield* keywords.prefixItems ?? [];
  yield* keywords.properties?.values() ?? [];
  yield* keywords.patternProperties?.values() ?? [];
}
