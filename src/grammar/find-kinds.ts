import { FORMATS } from './format-checks/is-of-format.ts';
import { getValueKind, type SchemaKeywords, type ValueKind, VALUE_KINDS } from './keywords.ts';

/**
 * Returns the allowed types. Without `type` or listed values, those that the keywords constrain: `{"properties": …}`
 * implies an object.
 */
export function findKinds(parts: readonly SchemaKeywords[]): ReadonlySet<ValueKind> {
  const named = parts.flatMap(listNamedKinds);
  const constrained = VALUE_KINDS.filter((kind) => parts.some((part) => constrainsKind(kind, part)));
  const open = parts.flatMap((part) => (part.isOpen && part.kinds) ?? []);
  const own = named.length > 0 || constrained.length === 0 ? intersectKinds(named) : constrained;
  const allowed = own.filter((kind) => open.every((kinds) => kinds.has(kind)));
  return new Set(allowed.length === 0 && named.length === 0 ? intersectKinds(open) : allowed);
}

const intersectKinds = (sets: readonly ReadonlySet<ValueKind>[]): readonly ValueKind[] =>
  VALUE_KINDS.filter((kind) => sets.every((kinds) => kinds.has(kind)));

const listNamedKinds = ({ isOpen, kinds, values }: SchemaKeywords): readonly ReadonlySet<ValueKind>[] => [
  ...(kinds === undefined || isOpen ? [] : [kinds]),
  ...values.map((list) => new Set(list.map(getValueKind))),
];

function constrainsKind(kind: ValueKind, part: SchemaKeywords): boolean {
  // An unknown format constrains nothing.
  if (kind === 'string' && part.format !== undefined && FORMATS.has(part.format)) return true;
  return KEYWORDS_BY_KIND[kind].some((name) => part[name] !== undefined);
}

const NUMBER_KEYWORDS = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum', 'multipleOf'] as const;
const KEYWORDS_BY_KIND: Readonly<Record<ValueKind, readonly (keyof SchemaKeywords)[]>> = {
  null: [],
  boolean: [],
  integer: NUMBER_KEYWORDS,
  fraction: NUMBER_KEYWORDS,
  string: ['minLength', 'maxLength', 'pattern'],
  array: ['prefixItems', 'items', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'unevaluatedItems'],
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
    'unevaluatedProperties',
  ],
};
