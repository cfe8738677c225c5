import type { JsonSchema } from '../core/grammar.ts';
import { SCHEMA_ALTERNATIVES_MAX, SCHEMA_EXPANSION_STEPS_MAX } from '../core/limits.ts';
import { type Keywords, readKeywords } from './keywords.ts';
import type { SchemaDocument, SchemaObject } from './schema-document.ts';

/** Keywords of several schemas that hold together; none at all is any value. `key` is equal for equal ones. */
export interface Conjunction {
  readonly key: string;
  readonly parts: readonly Keywords[];
}

/** Multiplies out: a schema is read as a choice of conjunctions, so that no `$ref`, allOf, anyOf or oneOf is left. */
export interface Expander {
  /**
   * The ways in which a value can satisfy all of `schemas`; none when it cannot.
   *
   * @throws GrammarError for a reference that leads back to itself, and for too many ways.
   */
  expand(schemas: readonly JsonSchema[]): readonly Conjunction[];
  keywordsOf(schema: SchemaObject): Keywords;
}

const ANYTHING: readonly Conjunction[] = [{ key: '', parts: [] }];

export function createExpander(document: SchemaDocument): Expander {
  const read = new Map<SchemaObject, Keywords>();
  const expanded = new Map<SchemaObject, readonly Conjunction[]>();
  const underWay = new Set<SchemaObject>();
  const ids = new Map<Keywords, number>();
  let steps = 0;

  function keywordsOf(schema: SchemaObject): Keywords {
    const known = read.get(schema);
    if (known) return known;
    const keywords = readKeywords(schema, document);
    read.set(schema, keywords);
    return keywords;
  }

  function idOf(part: Keywords): number {
    const id = ids.get(part) ?? ids.size;
    ids.set(part, id);
    return id;
  }

  function expandOne(schema: JsonSchema): readonly Conjunction[] {
    if (typeof schema === 'boolean') return schema ? ANYTHING : [];
    const known = expanded.get(schema);
    if (known) return known;
    const keywords = keywordsOf(schema);
    if (underWay.has(schema))
      throw document.refusal(keywords.path, 'The schema refers to itself without any value between');
    if (underWay.size === EXPANSION_DEPTH_MAX)
      throw document.refusal(
        keywords.path,
        `References and combinations are nested more than ${EXPANSION_DEPTH_MAX} deep`,
      );
    underWay.add(schema);
    const factors = [assertsSomething(keywords) ? [conjunction([keywords])] : ANYTHING];
    if (keywords.target !== undefined) factors.push(expandOne(keywords.target));
    for (const each of keywords.allOf ?? []) factors.push(expandOne(each));
    if (keywords.anyOf) factors.push(distinct(keywords.anyOf.flatMap(expandOne), keywords.path));
    if (keywords.oneOf) factors.push(distinct(keywords.oneOf.flatMap(expandOne), keywords.path));
    underWay.delete(schema);
    const product = multiply(factors, keywords.path);
    expanded.set(schema, product);
    return product;
  }

  function conjunction(parts: readonly Keywords[]): Conjunction {
    steps += 1 + parts.length;
    if (steps > SCHEMA_EXPANSION_STEPS_MAX) throw tooMany(parts[0]?.path ?? '#');
    const sorted = [...new Set(parts)].toSorted((a, b) => idOf(a) - idOf(b));
    return { key: sorted.map(idOf).join(), parts: sorted };
  }

  function multiply(factors: readonly (readonly Conjunction[])[], path: string): readonly Conjunction[] {
    // What leaves no choice is joined in one go; a long allOf would take the square of its length otherwise.
    const single = conjunction(factors.flatMap((factor) => (factor.length === 1 ? (factor[0]?.parts ?? []) : [])));
    let product: readonly Conjunction[] = [single];
    for (const factor of factors) {
      if (factor.length === 1) continue;
      const pairs: Conjunction[] = [];
      for (const one of product) {
        for (const other of factor) {
          pairs.push(conjunction([...one.parts, ...other.parts]));
        }
      }
      product = distinct(pairs, path);
    }
    return product;
  }

  function distinct(conjunctions: readonly Conjunction[], path: string): readonly Conjunction[] {
    const byKey = new Map(conjunctions.map((each) => [each.key, each]));
    steps += conjunctions.length;
    if (byKey.size > SCHEMA_ALTERNATIVES_MAX || steps > SCHEMA_EXPANSION_STEPS_MAX) throw tooMany(path);
    return [...byKey.values()];
  }

  const tooMany = (path: string): Error =>
    document.refusal(path, `anyOf, oneOf and allOf allow more than ${SCHEMA_ALTERNATIVES_MAX} combinations`);

  return {
    keywordsOf,
    expand(schemas) {
      const [first] = schemas;
      if (schemas.length === 1 && first !== undefined) return expandOne(first);
      return multiply(schemas.map(expandOne), '#');
    },
  };
}

/** Ours: schemas that refer to each other before a value begins. Keeps the recursion off the stack's end. */
export const EXPANSION_DEPTH_MAX = 500;

/** A schema that only combines others, or only describes, is as good as those. */
const assertsSomething = (keywords: Keywords): boolean =>
  keywords.values.length > 0 ||
  Object.entries(keywords).some(([name, value]) => value !== undefined && !COMBINES.has(name));

const COMBINES = new Set(['path', 'values', 'allOf', 'anyOf', 'oneOf', 'target']);
