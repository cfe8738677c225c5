import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_PATTERN_PROPERTIES_MAX } from '../core/limits.ts';
import { anyText, type Automaton, difference, intersect, isEmpty, ofTexts } from './automaton.ts';
import type { Goal, Goals } from './goal.ts';
import type { Keywords } from './keywords.ts';

/** Properties under names that are not declared: which names, and what their value must be. */
export interface ExtraProperties {
  readonly label: string;
  readonly texts: Automaton;
  readonly goal: Goal;
}

/** Disjoint: with patternProperties, one entry for each set of patterns that a name can match. */
export function extraProperties(
  parts: readonly Keywords[],
  declared: ReadonlySet<string>,
  goals: Goals,
): readonly ExtraProperties[] {
  const path = parts[0]?.path ?? '#';
  const patterns = [...new Set(parts.flatMap((part) => [...(part.patternProperties?.keys() ?? [])]))];
  if (patterns.length > GRAMMAR_PATTERN_PROPERTIES_MAX)
    goals.refuse(
      path,
      `patternProperties must have at most ${GRAMMAR_PATTERN_PROPERTIES_MAX} patterns, got ${patterns.length}`,
    );
  const isOpen = isOpenToOthers(parts, declared.size);
  if (!isOpen && patterns.length === 0) return [];
  const limits = parts.map((each) => each.propertyNames).filter((schema) => schema !== undefined);
  const key = JSON.stringify([parts.map((each) => each.path), ...declared]);
  const make = (what: string, texts: () => Automaton): Automaton => goals.languages.make(`${what} ${key}`, path, texts);
  const names = limits.length === 0 ? anyText() : goals.textsOf(limits, path);
  const free = declared.size === 0 ? names : make('free', () => difference(names, ofTexts(declared)));

  let regions: readonly Region[] = [{ label: 'free', texts: free, matched: new Set() }];
  for (const pattern of patterns) {
    const matching = goals.languages.pattern(pattern, path);
    regions = regions.flatMap(({ label, texts, matched }) => {
      const [inside, outside] = [`${label} in ${pattern}`, `${label} out ${pattern}`];
      return [
        {
          label: inside,
          texts: make(inside, () => intersect(texts, matching)),
          matched: new Set([...matched, pattern]),
        },
        { label: outside, texts: make(outside, () => difference(texts, matching)), matched },
      ];
    });
  }
  return regions
    .filter(({ texts, matched }) => (isOpen || matched.size > 0) && !isEmpty(texts))
    .map(({ texts, matched }) => ({
      label: JSON.stringify(texts),
      texts,
      goal: goals.of(
        parts.flatMap((part) => schemasFor(part, matched)),
        path,
      ),
    }))
    .filter(({ goal }) => goal.ways.length > 0);
}

interface Region {
  readonly label: string;
  readonly texts: Automaton;
  /** The patterns that its names match; all others are not matched. */
  readonly matched: ReadonlySet<string>;
}

/** Where declared properties stand without a word about others, there are no others unless minProperties needs them. */
function isOpenToOthers(parts: readonly Keywords[], declaredCount: number): boolean {
  if (parts.some((part) => part.additionalProperties !== undefined)) return true;
  if (parts.every((part) => part.properties === undefined && part.patternProperties === undefined)) return true;
  return parts.some((part) => (part.minProperties ?? 0) > declaredCount);
}

function schemasFor(part: Keywords, matched: ReadonlySet<string>): readonly JsonSchema[] {
  const schemas = [...(part.patternProperties ?? [])]
    .filter(([pattern]) => matched.has(pattern))
    .map(([, schema]) => schema);
  if (schemas.length > 0 || part.additionalProperties === undefined) return schemas;
  return [part.additionalProperties];
}
