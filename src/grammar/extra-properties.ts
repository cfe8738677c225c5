import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_PATTERN_PROPERTIES_MAX } from '../core/limits.ts';
import { anyText, type Automaton, difference, intersect, isEmpty, ofTexts } from './automaton.ts';
import { fewTexts } from './few-texts.ts';
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
  const { work } = goals.languages;
  const patterns = patternsOf(parts).filter((pattern) => namesOf(pattern, path, goals) === undefined);
  if (patterns.length > GRAMMAR_PATTERN_PROPERTIES_MAX)
    goals.refuse(
      path,
      `patternProperties must have at most ${GRAMMAR_PATTERN_PROPERTIES_MAX} patterns, got ${patterns.length}`,
    );
  const isOpen = isOpenToOthers(parts, declared.size);
  if (!isOpen && patterns.length === 0) return [];
  const limits = parts.map((each) => each.propertyNames).filter((schema) => schema !== undefined);
  const key = JSON.stringify([parts.map((each) => each.path), ...declared]);
  const make = (what: string, texts: () => Automaton): Automaton =>
    goals.languages.make(`${what} ${key}`, { path, what: 'What names the properties' }, texts);
  const names = limits.length === 0 ? anyText() : goals.textsOf(limits, path);
  const free = declared.size === 0 ? names : make('free', () => difference(names, ofTexts(declared, work), work));

  let regions: readonly Region[] = [{ label: 'free', texts: free, matched: new Set() }];
  for (const pattern of patterns) {
    const matching = goals.languages.pattern(pattern, path);
    regions = regions.flatMap(({ label, texts, matched }) => {
      const [inside, outside] = [`${label} in ${pattern}`, `${label} out ${pattern}`];
      return [
        {
          label: inside,
          texts: make(inside, () => intersect(texts, matching, work)),
          matched: new Set([...matched, pattern]),
        },
        { label: outside, texts: make(outside, () => difference(texts, matching, work)), matched },
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

/**
 * Names that patterns ask for one by one, like `^(?:street|square)$`: as good as declared, and so generated once at most,
 * where names under a pattern may come again.
 */
export const namesByPatterns = (parts: readonly Keywords[], goals: Goals): readonly string[] =>
  patternsOf(parts).flatMap((pattern) => namesOf(pattern, parts[0]?.path ?? '#', goals) ?? []);

const patternsOf = (parts: readonly Keywords[]): readonly string[] => [
  ...new Set(parts.flatMap((part) => [...(part.patternProperties?.keys() ?? [])])),
];

const namesOf = (pattern: string, path: string, { languages }: Goals): readonly string[] | undefined =>
  fewTexts(languages.pattern(pattern, path), PATTERN_NAMES_MAX);

/** Ours: names that a pattern may ask for to count as so many declared ones. */
const PATTERN_NAMES_MAX = 16;

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
