import { createArrayContainer } from './array-container.ts';
import type { Automaton } from './automaton.ts';
import type { Conjunction } from './conjunctions.ts';
import type { Container } from './container.ts';
import { hasFormat } from './format-to-automaton.ts';
import type { CompileContext } from './value-constraint.ts';
import { type SchemaKeywords, type ValueKind, VALUE_KINDS } from './keywords.ts';
import { createNumberLanguage } from './number-language.ts';
import { createObjectContainer } from './object-container.ts';
import { createStringLanguage } from './string-language.ts';

/** The values that satisfy one conjunction, by type. */
export interface ValueShape {
  /** JSON texts of single values. */
  readonly texts: readonly string[];
  readonly strings?: Automaton | undefined;
  readonly numbers?: Automaton | undefined;
  readonly array?: Container | undefined;
  readonly object?: Container | undefined;
}

export function createValueShape({ parts }: Conjunction, context: CompileContext): ValueShape {
  const [values, ...others] = parts.flatMap((part) => part.values);
  if (values) return { texts: listValidValues(values, others, parts, context) };
  const kinds = findKinds(parts);
  if (kinds.size === 0)
    context.noteImpossible(parts[0]?.path ?? '#', 'type allows no value that the schemas combined with it allow');
  return {
    texts: [...(kinds.has('null') ? ['null'] : []), ...(kinds.has('boolean') ? ['true', 'false'] : [])],
    strings: kinds.has('string') ? createStringLanguage(parts, context) : undefined,
    numbers:
      kinds.has('integer') || kinds.has('fraction')
        ? createNumberLanguage(parts, !kinds.has('fraction'), context)
        : undefined,
    array: kinds.has('array') ? createArrayContainer(parts, context) : undefined,
    object: kinds.has('object') ? createObjectContainer(parts, context) : undefined,
  };
}

/** Returns the values of enum and const that all other keywords allow. */
function listValidValues(
  values: readonly unknown[],
  others: readonly (readonly unknown[])[],
  parts: readonly SchemaKeywords[],
  context: CompileContext,
): readonly string[] {
  const path = parts[0]?.path ?? '#';
  const fitting = values.filter((value) => parts.every((part) => context.isValid(part, value)));
  if (fitting.length === 0)
    context.noteImpossible(
      path,
      `none of the values of ${others.length > 0 ? 'enum and const' : 'enum or const'} is valid`,
    );
  return [...new Set(fitting.map((value) => JSON.stringify(value)))];
}

/**
 * Returns the allowed types. Without `type`, those that the keywords constrain: `{"properties": …}` implies an object.
 */
function findKinds(parts: readonly SchemaKeywords[]): ReadonlySet<ValueKind> {
  const named = parts.flatMap((part) => part.kinds ?? []);
  if (named.length > 0) return new Set(VALUE_KINDS.filter((kind) => named.every((kinds) => kinds.has(kind))));
  const constrainedKinds = VALUE_KINDS.filter((kind) => parts.some((part) => constrainsKind(kind, part)));
  return new Set(constrainedKinds.length === 0 ? VALUE_KINDS : constrainedKinds);
}

function constrainsKind(kind: ValueKind, part: SchemaKeywords): boolean {
  // An unknown format constrains nothing.
  if (kind === 'string' && part.format !== undefined && hasFormat(part.format)) return true;
  return KEYWORDS_BY_KIND[kind].some((name) => part[name] !== undefined);
}

const NUMBER_KEYWORDS = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum', 'multipleOf'] as const;
const KEYWORDS_BY_KIND: Readonly<Record<ValueKind, readonly (keyof SchemaKeywords)[]>> = {
  null: [],
  boolean: [],
  integer: NUMBER_KEYWORDS,
  fraction: NUMBER_KEYWORDS,
  string: ['minLength', 'maxLength', 'pattern'],
  array: ['prefixItems', 'items', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: [
    'properties',
    'patternProperties',
    'additionalProperties',
    'propertyNames',
    'required',
    'minProperties',
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
  ],
};
