import { arrayContainer } from './array-container.ts';
import type { Automaton } from './automaton.ts';
import type { Conjunction } from './conjunctions.ts';
import type { Container } from './container.ts';
import { hasFormat } from './formats.ts';
import type { Goals } from './goal.ts';
import { type Keywords, type Kind, KINDS } from './keywords.ts';
import { numberLanguage } from './number-language.ts';
import { objectContainer } from './object-container.ts';
import { stringLanguage } from './string-language.ts';

/** Values that satisfy one conjunction, by what they are. */
export interface Shape {
  /** JSON of single values. */
  readonly texts: readonly string[];
  readonly strings?: Automaton | undefined;
  readonly numbers?: Automaton | undefined;
  readonly array?: Container | undefined;
  readonly object?: Container | undefined;
}

export function shapeOf({ parts }: Conjunction, goals: Goals): Shape {
  const [values, ...others] = parts.flatMap((part) => part.values);
  if (values) return { texts: fittingValues(values, others, parts, goals) };
  const kinds = kindsOf(parts);
  if (kinds.size === 0) goals.note(parts[0]?.path ?? '#', 'type allows nothing that the schemas joined with it allow');
  return {
    texts: [...(kinds.has('null') ? ['null'] : []), ...(kinds.has('boolean') ? ['true', 'false'] : [])],
    strings: kinds.has('string') ? stringLanguage(parts, goals) : undefined,
    numbers:
      kinds.has('integer') || kinds.has('fraction') ? numberLanguage(parts, !kinds.has('fraction'), goals) : undefined,
    array: kinds.has('array') ? arrayContainer(parts, goals) : undefined,
    object: kinds.has('object') ? objectContainer(parts, goals) : undefined,
  };
}

/** Of enum and const, the values that all other keywords allow too. */
function fittingValues(
  values: readonly unknown[],
  others: readonly (readonly unknown[])[],
  parts: readonly Keywords[],
  goals: Goals,
): readonly string[] {
  const path = parts[0]?.path ?? '#';
  const fitting = values.filter((value) => parts.every((part) => goals.isValid(part, value)));
  if (fitting.length === 0)
    goals.note(path, `none of the values of ${others.length > 0 ? 'enum and const' : 'enum or const'} is valid`);
  return [...new Set(fitting.map((value) => JSON.stringify(value)))];
}

/** Without `type`, the kinds of value that the keywords are about; `{"properties": …}` means an object. */
function kindsOf(parts: readonly Keywords[]): ReadonlySet<Kind> {
  const named = parts.flatMap((part) => part.kinds ?? []);
  if (named.length > 0) return new Set(KINDS.filter((kind) => named.every((kinds) => kinds.has(kind))));
  const meant = KINDS.filter((kind) => parts.some((part) => isAbout(kind, part)));
  return new Set(meant.length === 0 ? KINDS : meant);
}

function isAbout(kind: Kind, part: Keywords): boolean {
  switch (kind) {
    case 'null':
    case 'boolean':
      return false;
    case 'integer':
    case 'fraction':
      return NUMBER_KEYWORDS.some((name) => part[name] !== undefined);
    case 'string': {
      const isKnownFormat = part.format !== undefined && hasFormat(part.format);
      return isKnownFormat || STRING_KEYWORDS.some((name) => part[name] !== undefined);
    }
    case 'array':
      return ARRAY_KEYWORDS.some((name) => part[name] !== undefined);
    case 'object':
      return OBJECT_KEYWORDS.some((name) => part[name] !== undefined);
  }
}

const NUMBER_KEYWORDS = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum', 'multipleOf'] as const;
const STRING_KEYWORDS = ['minLength', 'maxLength', 'pattern'] as const;
const ARRAY_KEYWORDS = ['prefixItems', 'items', 'minItems', 'maxItems', 'uniqueItems', 'contains'] as const;
const OBJECT_KEYWORDS = [
  'properties',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  'required',
  'minProperties',
  'maxProperties',
  'dependentRequired',
  'dependentSchemas',
] as const;
