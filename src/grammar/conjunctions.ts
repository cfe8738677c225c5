import type { JsonSchema } from '../core/grammar.ts';
import { SCHEMA_ALTERNATIVES_MAX, SCHEMA_EXPANSION_STEPS_MAX } from './limits.ts';
import { findKinds } from './find-kinds.ts';
import { type SchemaKeywords, parseKeywords, VALUE_KINDS, type ValueKind } from './keywords.ts';
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
   * @throws GrammarError for a reference cycle.
   */
  expand(schemas: readonly JsonSchema[]): readonly Conjunction[];
}

const ANY_VALUE: readonly Conjunction[] = [{ key: '', parts: [] }];

/**
 * How much of a schema a grammar holds; the check covers the rest. `all`: all but alternatives above a limit.
 * `few-containers`: nor alternatives of which several are arrays or objects, which an engine follows in parallel.
 * `plain-strings`: nor lengths and formats of strings. `types`: only the type of the value.
 */
export type GrammarDetail = 'all' | 'few-containers' | 'plain-strings' | 'types';

/** Creates the function that parses the keywords of a schema once. */
export function createKeywordReader(document: SchemaDocument): (schema: SchemaObject) => SchemaKeywords {
  const keywordsBySchema = new Map<SchemaObject, SchemaKeywords>();
  return (schema) => {
    const cached = keywordsBySchema.get(schema);
    if (cached) return cached;
    const keywords = parseKeywords(schema, document);
    keywordsBySchema.set(schema, keywords);
    return keywords;
  };
}

export interface ExpanderOptions {
  readonly document: SchemaDocument;
  getKeywords(schema: SchemaObject): SchemaKeywords;
  readonly detail: GrammarDetail;
  /** Called when a limit replaces a part of the schema by any value. */
  noteWide(): void;
}

export function createExpander({ document, getKeywords, detail, noteWide }: ExpanderOptions): SchemaExpander {
  const expanded = new Map<SchemaObject, readonly Conjunction[]>();
  const inProgress = new Set<SchemaObject>();
  const ids = new Map<SchemaKeywords, number>();
  const openParts = new Map<string, SchemaKeywords>();
  let steps = 0;

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
    if (keywords.dynamic) factors.push(expandDynamic(keywords.dynamic.candidates));
    for (const each of keywords.allOf ?? []) factors.push(expandOne(each));
    if (keywords.anyOf) factors.push(uniteAlternatives(keywords.anyOf));
    if (keywords.oneOf) factors.push(uniteAlternatives(keywords.oneOf));
    inProgress.delete(schema);
    const product = combineFactors(factors);
    expanded.set(schema, product);
    return product;
  }

  /** Any of the targets may be meant, so that the grammar allows all of them. */
  const expandDynamic = (candidates: readonly JsonSchema[]): readonly Conjunction[] =>
    candidates.some((each) => typeof each === 'object' && inProgress.has(each))
      ? [createOpenConjunction(VALUE_KINDS)]
      : uniteAlternatives(candidates);

  function uniteAlternatives(schemas: readonly JsonSchema[]): readonly Conjunction[] {
    const alternatives = removeDuplicates(schemas.flatMap(expandOne));
    return isWithinLimits(alternatives) ? alternatives : widen(alternatives);
  }

  function isWithinLimits(alternatives: readonly Conjunction[]): boolean {
    if (alternatives.length > SCHEMA_ALTERNATIVES_MAX) return false;
    if (detail === 'all' || alternatives.length < 2) return true;
    const kinds = alternatives.map(({ parts }) => findKinds(parts));
    return (['array', 'object'] as const).every((kind) => kinds.filter((each) => each.has(kind)).length < 2);
  }

  /** Replaces alternatives by any value of their types. */
  const widen = (alternatives: readonly Conjunction[]): readonly Conjunction[] => [
    createOpenConjunction(new Set(alternatives.flatMap(({ parts }) => [...findKinds(parts)]))),
  ];

  function createOpenConjunction(kinds: Iterable<ValueKind>): Conjunction {
    noteWide();
    const set = new Set(kinds);
    const key = VALUE_KINDS.filter((kind) => set.has(kind)).join();
    const part = openParts.get(key) ?? { ...getKeywords({}), isOpen: true, kinds: set };
    openParts.set(key, part);
    return createConjunction([part]);
  }

  function createConjunction(parts: readonly SchemaKeywords[]): Conjunction {
    steps += 1 + parts.length;
    const sorted = [...new Set(parts)].toSorted((a, b) => getKeywordsId(a) - getKeywordsId(b));
    return { key: sorted.map(getKeywordsId).join(), parts: sorted };
  }

  function combineFactors(factors: readonly (readonly Conjunction[])[]): readonly Conjunction[] {
    if (steps > SCHEMA_EXPANSION_STEPS_MAX) return [createOpenConjunction(VALUE_KINDS)];
    // Joins all factors with a single conjunction at once; one by one, a long allOf would take quadratic time.
    const joined = createConjunction(
      factors.flatMap((factor) => (factor.length === 1 ? (factor[0]?.parts ?? []) : [])),
    );
    let product: readonly Conjunction[] = [joined];
    for (const factor of factors) {
      if (factor.length !== 1)
        product = multiply(product, factor) ?? multiply(product, widen(factor)) ?? [createOpenConjunction(VALUE_KINDS)];
    }
    return product;
  }

  /** Returns undefined for a product that exceeds a limit. */
  function multiply(left: readonly Conjunction[], right: readonly Conjunction[]): readonly Conjunction[] | undefined {
    const size = left.length * right.length;
    if (size > SCHEMA_ALTERNATIVES_MAX ** 2 || steps > SCHEMA_EXPANSION_STEPS_MAX) return undefined;
    const pairs = left.flatMap((one) => right.map((other) => createConjunction([...one.parts, ...other.parts])));
    const product = removeDuplicates(pairs);
    return isWithinLimits(product) ? product : undefined;
  }

  function removeDuplicates(conjunctions: readonly Conjunction[]): readonly Conjunction[] {
    steps += conjunctions.length;
    return [...new Map(conjunctions.map((each) => [each.key, each])).values()];
  }

  const expandAll = (schemas: readonly JsonSchema[]): readonly Conjunction[] => {
    const [first] = schemas;
    return schemas.length === 1 && first !== undefined ? expandOne(first) : combineFactors(schemas.map(expandOne));
  };

  return {
    expand: (schemas) => {
      const conjunctions = expandAll(schemas);
      return detail === 'types' && conjunctions.length > 0 ? widen(conjunctions) : conjunctions;
    },
  };
}

/** Tells whether a schema asserts something itself, beyond combining other schemas and describing the value. */
const hasAssertions = (keywords: SchemaKeywords): boolean =>
  keywords.values.length > 0 ||
  Object.entries(keywords).some(([name, value]) => value !== undefined && !COMBINING_KEYWORDS.has(name));

const COMBINING_KEYWORDS = new Set(['path', 'values', 'allOf', 'anyOf', 'oneOf', 'target', 'dynamic']);
