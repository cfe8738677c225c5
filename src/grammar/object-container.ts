import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_COUNT_MAX, GRAMMAR_POSITIONS_MAX, SCHEMA_PROPERTIES_MAX } from '../core/limits.ts';
import { accepts } from './automaton.ts';
import { type Container, NO_MEMBERS, type Place } from './container.ts';
import { extraProperties, namesByPatterns } from './extra-properties.ts';
import type { Goal, Goals } from './goal.ts';
import type { Keywords } from './keywords.ts';

interface Property {
  readonly name: string;
  readonly goal: Goal;
  readonly isRequired: boolean;
}

/**
 * Objects that satisfy all of `parts`: declared properties in their order, then others where they may be. Undefined when
 * there are none.
 */
export function objectContainer(parts: readonly Keywords[], goals: Goals): Container | undefined {
  const path = parts[0]?.path ?? '#';
  const properties = declaredProperties(parts, goals, path);
  const extras = extraProperties(parts, new Set(properties.map(({ name }) => name)), goals);
  const requiredCount = properties.filter(({ isRequired }) => isRequired).length;
  const bounds = countBounds(parts, { requiredCount, declaredCount: properties.length, isOpen: extras.length > 0 });
  if (bounds.min > bounds.max)
    return goals.note(path, `minProperties ${bounds.min} and what is required are above maxProperties ${bounds.max}`);
  if (bounds.min > GRAMMAR_COUNT_MAX)
    goals.refuse(path, `minProperties must be at most ${GRAMMAR_COUNT_MAX}, got ${bounds.min}`);
  const { min, max } = countable(bounds, properties.length);
  const isCounted = min > 0 || max < Infinity;
  const countMax = max < Infinity ? max : min;
  const after = ({ count }: Place, slot: number): Place => ({
    slot,
    count: isCounted ? Math.min(count + 1, countMax) : 0,
  });
  const lastRequired = properties.findLastIndex(({ isRequired }) => isRequired);
  return {
    start: { slot: 0, count: 0 },
    goals: [...properties, ...extras].map(({ goal }) => goal),
    canEnd: ({ slot, count }) => slot > lastRequired && count >= min,
    at(place) {
      if (place.count >= max) return NO_MEMBERS;
      const { slot, count } = place;
      const property = properties[slot];
      if (!property) {
        return {
          members: extras.map(({ goal, label, texts }) => ({
            name: { type: 'keys', label, texts },
            goal,
            next: after(place, slot),
          })),
        };
      }
      const { name, goal, isRequired } = property;
      const members = [{ name: { type: 'key', label: name, text: name }, goal, next: after(place, slot + 1) } as const];
      return isRequired ? { members } : { members, onward: { slot: slot + 1, count } };
    },
  };
}

function declaredProperties(parts: readonly Keywords[], goals: Goals, path: string): readonly Property[] {
  const required = new Set(parts.flatMap((part) => part.required ?? []));
  const names = new Set([
    ...parts.flatMap((part) => [...(part.properties?.keys() ?? [])]),
    ...namesByPatterns(parts, goals),
    ...required,
  ]);
  if (names.size > SCHEMA_PROPERTIES_MAX)
    goals.refuse(path, `An object must have at most ${SCHEMA_PROPERTIES_MAX} properties, got ${names.size}`);
  const limits = parts.map((part) => part.propertyNames).filter((schema) => schema !== undefined);
  const allowed = limits.length === 0 ? undefined : goals.textsOf(limits, path);
  return [...names].map((name) => {
    const schemas =
      allowed && !accepts(allowed, name) ? [false] : parts.flatMap((part) => schemasFor(name, part, goals));
    return { name, goal: goals.of(schemas, `${path}/properties/${name}`), isRequired: required.has(name) };
  });
}

/** What one schema says of the value under a name. */
function schemasFor(name: string, part: Keywords, goals: Goals): readonly JsonSchema[] {
  const declared = part.properties?.get(name);
  const matching = [...(part.patternProperties ?? [])]
    .filter(([pattern]) => accepts(goals.languages.pattern(pattern, part.path), name))
    .map(([, schema]) => schema);
  if (declared !== undefined) return [declared, ...matching];
  if (matching.length > 0 || part.additionalProperties === undefined) return matching;
  return [part.additionalProperties];
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

interface Counts {
  readonly requiredCount: number;
  readonly declaredCount: number;
  readonly isOpen: boolean;
}

/** How many properties there must and may be, where the rest of the schema does not say so anyway. */
function countBounds(parts: readonly Keywords[], { requiredCount, declaredCount, isOpen }: Counts): Bounds {
  const min = Math.max(0, ...parts.map((part) => part.minProperties ?? 0));
  const max = Math.min(Infinity, ...parts.map((part) => part.maxProperties ?? Infinity));
  if (Math.max(min, requiredCount) > max) return { min: Math.max(min, requiredCount), max };
  return {
    min: min <= requiredCount ? 0 : min,
    max: !isOpen && max >= declaredCount ? Infinity : max,
  };
}

/** Bounds as far as a grammar can count; what is left out here is checked afterwards. */
function countable({ min, max }: Bounds, declaredCount: number): Bounds {
  const last = max <= GRAMMAR_COUNT_MAX ? max : Infinity;
  const highest = last < Infinity ? last : min;
  if ((declaredCount + 1) * (highest + 1) > GRAMMAR_POSITIONS_MAX) return { min: 0, max: Infinity };
  return { min, max: last };
}
