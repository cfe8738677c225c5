import type { JsonSchema } from '../core/grammar.ts';
import { SCHEMA_ALTERNATIVES_MAX, SCHEMA_EXPANSION_STEPS_MAX } from './limits.ts';
import { type SchemaKeywords, parseKeywords } from './keywords.ts';
import type { SchemaDocument, SchemaObject } from './schema-document.ts';
import { EXPANSION_DEPTH_MAX, createRecursionError, createExpansionDepthError } from './expansion-errors.ts';

/**
 * Keywords of several schemas that all apply; without parts, any value is valid. Equal conjunctions have equal keys.
 */
export interface Conjunction {
  readonly key: string;
  readonly parts: readonly SchemaKeywords[];
}

/**
 * Expands schemas to disjunctions of conjunctions (disjunctive normal form): resolves `$ref`, allOf, anyOf and oneOf.
 */
export interface SchemaExpander {
  /**
   * Returns the conjunctions of which a value must satisfy at least one to satisfy all `schemas`; empty when none can
   * be.
   *
   * @throws GrammarError for a reference cycle and for too many conjunctions.
   */
  expand(schemas: readonly JsonSchema[]): readonly Conjunction[];
  getKeywords(schema: SchemaObject): SchemaKeywords;
}

const ANY_VALUE: readonly Conjunction[] = [{ key: '', parts: [] }];

export function createExpander(document: SchemaDocument): SchemaExpander {
  const keywordsBySchema = new Map<SchemaObject, SchemaKeywords>();
  const expanded = new Map<SchemaObject, readonly Conjunction[]>();
  const inProgress = new Set<SchemaObject>();
  const ids = new Map<SchemaKeywords, number>();
  let steps = 0;

  function getKeywords(schema: SchemaObject): SchemaKeywords {
    const cached = keywordsBySchema.get(schema);
    if (cached) return cached;
    const keywords = parseKeywords(schema, document);
    keywordsBySchema.set(schema, keywords);
    return keywords;
  }

  function getKeywordsId(part: SchemaKeywords): number {
    const id = ids.get(part) ?? ids.size;
    ids.set(part, id);
    return id;
  }

  function expandOne(schema: JsonSchema): readonly Conjunction[] {
    if (typeof schema === 'boolean') return schema ? ANY_VALUE : [];
    const cached = expanded.get(schema);
    if (cached) return cached;
    const keywords = getKeywords(schema);
    if (inProgress.has(schema)) throw createRecursionError(document, keywords.path);
    if (inProgress.size === EXPANSION_DEPTH_MAX) throw createExpansionDepthError(document, keywords.path);
    inProgress.add(schema);
    const factors = [hasAssertions(keywords) ? [createConjunction([keywords])] : ANY_VALUE];
    if (keywords.target !== undefined) factors.push(expandOne(keywords.target));
    for (const each of keywords.allOf ?? []) factors.push(expandOne(each));
    if (keywords.anyOf) factors.push(removeDuplicates(keywords.anyOf.flatMap(expandOne), keywords.path));
    if (keywords.oneOf) factors.push(removeDuplicates(keywords.oneOf.flatMap(expandOne), keywords.path));
    inProgress.delete(schema);
    const product = combineFactors(factors, keywords.path);
    expanded.set(schema, product);
    return product;
  }

  function createConjunction(parts: readonly SchemaKeywords[]): Conjunction {
    steps += 1 + parts.length;
    if (steps > SCHEMA_EXPANSION_STEPS_MAX) throw createLimitError(parts[0]?.path ?? '#');
    const sorted = [...new Set(parts)].toSorted((a, b) => getKeywordsId(a) - getKeywordsId(b));
    return { key: sorted.map(getKeywordsId).join(), parts: sorted };
  }

  function combineFactors(factors: readonly (readonly Conjunction[])[], path: string): readonly Conjunction[] {
    // Joins all factors with a single conjunction at once; one by one, a long allOf would take quadratic time.
    const joined = createConjunction(
      factors.flatMap((factor) => (factor.length === 1 ? (factor[0]?.parts ?? []) : [])),
    );
    let product: readonly Conjunction[] = [joined];
    for (const factor of factors) {
      if (factor.length === 1) continue;
      const pairs: Conjunction[] = [];
      for (const left of product) {
        for (const right of factor) {
          pairs.push(createConjunction([...left.parts, ...right.parts]));
        }
      }
      product = removeDuplicates(pairs, path);
    }
    return product;
  }

  function removeDuplicates(conjunctions: readonly Conjunction[], path: string): readonly Conjunction[] {
    const byKey = new Map(conjunctions.map((each) => [each.key, each]));
    steps += conjunctions.length;
    if (byKey.size > SCHEMA_ALTERNATIVES_MAX || steps > SCHEMA_EXPANSION_STEPS_MAX) throw createLimitError(path);
    return [...byKey.values()];
  }

  const createLimitError = (path: string): Error =>
    document.createError(path, `anyOf, oneOf and allOf allow more than ${SCHEMA_ALTERNATIVES_MAX} combinations`);

  return {
    getKeywords,
    expand(schemas) {
      const [first] = schemas;
      if (schemas.length === 1 && first !== undefined) return expandOne(first);
      return combineFactors(schemas.map(expandOne), '#');
    },
  };
}

/** Tells whether a schema asserts something itself, beyond combining other schemas and describing the value. */
const hasAssertions = (keywords: SchemaKeywords): boolean =>
  keywords.values.length > 0 ||
  Object.entries(keywords).some(([name, value]) => value !== undefined && !COMBINING_KEYWORDS.has(name));

const COMBINING_KEYWORDS = new Set(['path', 'values', 'allOf', 'anyOf', 'oneOf', 'target']);
