import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_COUNT_MAX, GRAMMAR_POSITIONS_MAX, SCHEMA_PROPERTIES_MAX } from './limits.ts';
import { acceptsText } from './automaton.ts';
import { type Container, NO_MEMBERS, type ContainerPosition } from './container.ts';
import { findExtraProperties, listPatternNames } from './extra-properties.ts';
import type { ValueConstraint, CompileContext } from './value-constraint.ts';
import type { SchemaKeywords } from './keywords.ts';

interface DeclaredProperty {
  readonly name: string;
  readonly constraint: ValueConstraint;
  readonly isRequired: boolean;
}

/**
 * Creates the objects that satisfy all `parts`: declared properties in their order, then further ones where allowed.
 * Undefined when there are none.
 */
export function createObjectContainer(
  parts: readonly SchemaKeywords[],
  context: CompileContext,
): Container | undefined {
  const path = parts[0]?.path ?? '#';
  const properties = listDeclaredProperties(parts, context, path);
  const extras = findExtraProperties(parts, new Set(properties.map(({ name }) => name)), context);
  const requiredCount = properties.filter(({ isRequired }) => isRequired).length;
  const bounds = createCountBounds(parts, {
    requiredCount,
    declaredCount: properties.length,
    isOpen: extras.length > 0,
  });
  if (bounds.min > bounds.max)
    return context.noteImpossible(
      path,
      `minProperties ${bounds.min} and what is required are above maxProperties ${bounds.max}`,
    );
  if (bounds.min > GRAMMAR_COUNT_MAX)
    context.throwError(path, `minProperties must be at most ${GRAMMAR_COUNT_MAX}, got ${bounds.min}`);
  const { min, max } = limitToCountable(bounds, properties.length);
  const isCounted = min > 0 || max < Infinity;
  const countMax = max < Infinity ? max : min;
  const advance = ({ count }: ContainerPosition, slot: number): ContainerPosition => ({
    slot,
    count: isCounted ? Math.min(count + 1, countMax) : 0,
  });
  const lastRequired = properties.findLastIndex(({ isRequired }) => isRequired);
  return {
    start: { slot: 0, count: 0 },
    constraints: [...properties, ...extras].map(({ constraint }) => constraint),
    canEnd: ({ slot, count }) => slot > lastRequired && count >= min,
    getNextMembers(position) {
      if (position.count >= max) return NO_MEMBERS;
      const { slot, count } = position;
      const property = properties[slot];
      if (!property) {
        return {
          members: extras.map(({ constraint, label, texts }) => ({
            name: { type: 'keys', label, texts },
            constraint,
            next: advance(position, slot),
          })),
        };
      }
      const { name, constraint, isRequired } = property;
      const members = [
        { name: { type: 'key', label: name, text: name }, constraint, next: advance(position, slot + 1) } as const,
      ];
      return isRequired ? { members } : { members, skipTo: { slot: slot + 1, count } };
    },
  };
}

function listDeclaredProperties(
  parts: readonly SchemaKeywords[],
  context: CompileContext,
  path: string,
): readonly DeclaredProperty[] {
  const required = new Set(parts.flatMap((part) => part.required ?? []));
  const names = new Set([
    ...parts.flatMap((part) => [...(part.properties?.keys() ?? [])]),
    ...listPatternNames(parts, context),
    ...required,
  ]);
  if (names.size > SCHEMA_PROPERTIES_MAX)
    context.throwError(path, `An object must have at most ${SCHEMA_PROPERTIES_MAX} properties, got ${names.size}`);
  const limits = parts.map((part) => part.propertyNames).filter((schema) => schema !== undefined);
  const allowed = limits.length === 0 ? undefined : context.createNameLanguage(limits, path);
  return [...names].map((name) => {
    const schemas =
      allowed && !acceptsText(allowed, name) ? [false] : parts.flatMap((part) => collectSchemas(name, part, context));
    return {
      name,
      constraint: context.getConstraint(schemas, `${path}/properties/${name}`),
      isRequired: required.has(name),
    };
  });
}

/** Collects the schemas in one part for the value under a name. */
function collectSchemas(name: string, part: SchemaKeywords, context: CompileContext): readonly JsonSchema[] {
  const declared = part.properties?.get(name);
  const matching = [...(part.patternProperties ?? [])]
    .filter(([pattern]) => acceptsText(context.languages.getPatternLanguage(pattern, part.path), name))
    .map(([, schema]) => schema);
  if (declared !== undefined) return [declared, ...matching];
  if (matching.length > 0 || part.additionalProperties === undefined) return matching;
  return [part.additionalProperties];
}

interface CountBounds {
  readonly min: number;
  readonly max: number;
}

interface PropertyCounts {
  readonly requiredCount: number;
  readonly declaredCount: number;
  readonly isOpen: boolean;
}

/** Computes how many properties are required and allowed, unless the rest of the schema already implies it. */
function createCountBounds(
  parts: readonly SchemaKeywords[],
  { requiredCount, declaredCount, isOpen }: PropertyCounts,
): CountBounds {
  const min = Math.max(0, ...parts.map((part) => part.minProperties ?? 0));
  const max = Math.min(Infinity, ...parts.map((part) => part.maxProperties ?? Infinity));
  if (Math.max(min, requiredCount) > max) return { min: Math.max(min, requiredCount), max };
  return {
    min: min <= requiredCount ? 0 : min,
    max: !isOpen && max >= declaredCount ? Infinity : max,
  };
}

/** Reduces the bounds to what a grammar can count. The check covers the rest. */
function limitToCountable({ min, max }: CountBounds, declaredCount: number): CountBounds {
  const last = max <= GRAMMAR_COUNT_MAX ? max : Infinity;
  const highest = last < Infinity ? last : min;
  if ((declaredCount + 1) * (highest + 1) > GRAMMAR_POSITIONS_MAX) return { min: 0, max: Infinity };
  return { min, max: last };
}
