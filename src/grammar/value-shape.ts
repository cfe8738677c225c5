import { createArrayContainer } from './array-container.ts';
import type { Automaton } from './automaton.ts';
import type { Conjunction } from './conjunctions.ts';
import type { Container } from './container.ts';
import { findKinds } from './find-kinds.ts';
import type { CompileContext } from './value-constraint.ts';
import type { SchemaKeywords } from './keywords.ts';
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
