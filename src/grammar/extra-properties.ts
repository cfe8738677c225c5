import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_PATTERN_PROPERTIES_MAX } from './limits.ts';
import {
  createAnyTextAutomaton,
  type Automaton,
  subtractAutomata,
  intersectAutomata,
  isEmpty,
  createTextsAutomaton,
} from './automaton.ts';
import { listFewTexts } from './list-few-texts.ts';
import type { ValueConstraint, CompileContext } from './value-constraint.ts';
import { mayEvaluateUnknownMembers, type SchemaKeywords } from './keywords.ts';

/** Properties with undeclared names: the names, and the constraint of their values. */
export interface ExtraProperties {
  readonly label: string;
  readonly texts: Automaton;
  readonly constraint: ValueConstraint;
}

/** Returns disjoint groups of undeclared properties: one for each set of patternProperties that a name can match. */
export function findExtraProperties(
  parts: readonly SchemaKeywords[],
  declared: ReadonlySet<string>,
  context: CompileContext,
): readonly ExtraProperties[] {
  const path = parts[0]?.path ?? '#';
  const { work } = context.languages;
  const patterns = listPatterns(parts).filter((pattern) => listNamesOfPattern(pattern, path, context) === undefined);
  if (patterns.length > GRAMMAR_PATTERN_PROPERTIES_MAX)
    context.throwError(
      path,
      `patternProperties must have at most ${GRAMMAR_PATTERN_PROPERTIES_MAX} patterns, got ${patterns.length}`,
      { isGrammarLimit: true },
    );
  const allowsOthers = allowsUndeclared(parts, declared.size);
  const isUnevaluated =
    !parts.some(mayEvaluateUndeclared) && parts.filter((part) => part.unevaluatedProperties !== undefined).length === 1;
  if (!allowsOthers && patterns.length === 0) return [];
  const nameSchemas = parts.map((each) => each.propertyNames).filter((schema) => schema !== undefined);
  const key = JSON.stringify([parts.map((each) => each.path), ...declared]);
  const createAutomaton = (what: string, texts: () => Automaton): Automaton =>
    context.languages.getLanguage(`${what} ${key}`, { path, what: 'The set of property names' }, texts);
  const names = nameSchemas.length === 0 ? createAnyTextAutomaton() : context.createNameLanguage(nameSchemas, path);
  const undeclaredNames =
    declared.size === 0
      ? names
      : createAutomaton('free', () => subtractAutomata(names, createTextsAutomaton(declared, work), work));

  let regions: readonly NameRegion[] = [{ label: 'free', texts: undeclaredNames, matched: new Set() }];
  for (const pattern of patterns) {
    const matching = context.languages.getPatternLanguage(pattern, path);
    regions = regions.flatMap(({ label, texts, matched }) => {
      const [inside, outside] = [`${label} in ${pattern}`, `${label} out ${pattern}`];
      return [
        {
          label: inside,
          texts: createAutomaton(inside, () => intersectAutomata(texts, matching, work)),
          matched: new Set([...matched, pattern]),
        },
        { label: outside, texts: createAutomaton(outside, () => subtractAutomata(texts, matching, work)), matched },
      ];
    });
  }
  return regions
    .filter(({ texts, matched }) => (allowsOthers || matched.size > 0) && !isEmpty(texts))
    .map(({ texts, matched }) => ({
      label: JSON.stringify(texts),
      texts,
      constraint: context.getConstraint(
        parts.flatMap((part) => collectSchemas(part, matched, isUnevaluated && matched.size === 0)),
        path,
      ),
    }))
    .filter(({ constraint }) => constraint.conjunctions.length > 0);
}

/**
 * Lists names that patterns enumerate, like `^(?:street|square)$`. They count as declared, and so are generated at most
 * once; names that match other patterns may be repeated.
 */
export const listPatternNames = (parts: readonly SchemaKeywords[], context: CompileContext): readonly string[] =>
  listPatterns(parts).flatMap((pattern) => listNamesOfPattern(pattern, parts[0]?.path ?? '#', context) ?? []);

const listPatterns = (parts: readonly SchemaKeywords[]): readonly string[] => [
  ...new Set(parts.flatMap((part) => [...(part.patternProperties?.keys() ?? [])])),
];

const listNamesOfPattern = (
  pattern: string,
  path: string,
  { languages }: CompileContext,
): readonly string[] | undefined => listFewTexts(languages.getPatternLanguage(pattern, path), PATTERN_NAMES_MAX);

/** Maximum number of names in a pattern for them to count as declared. */
const PATTERN_NAMES_MAX = 16;

interface NameRegion {
  readonly label: string;
  readonly texts: Automaton;
  /** Patterns that the names match. The names match no other pattern. */
  readonly matched: ReadonlySet<string>;
}

/** Tells whether properties without a declaration may count as evaluated, so that `unevaluatedProperties` ignores them. */
const mayEvaluateUndeclared = (part: SchemaKeywords): boolean =>
  part.additionalProperties !== undefined || mayEvaluateUnknownMembers(part);

/** Declared properties without a statement about others exclude others, unless minProperties requires them. */
function allowsUndeclared(parts: readonly SchemaKeywords[], declaredCount: number): boolean {
  if (parts.some((part) => (part.isOpen ?? part.additionalProperties ?? part.unevaluatedProperties) !== undefined))
    return true;
  if (parts.every((part) => part.properties === undefined && part.patternProperties === undefined)) return true;
  return parts.some((part) => (part.minProperties ?? 0) > declaredCount);
}

function collectSchemas(
  part: SchemaKeywords,
  matched: ReadonlySet<string>,
  isUnevaluated: boolean,
): readonly JsonSchema[] {
  const schemas = [...(part.patternProperties ?? [])]
    .filter(([pattern]) => matched.has(pattern))
    .map(([, schema]) => schema);
  if (isUnevaluated && part.unevaluatedProperties !== undefined) schemas.push(part.unevaluatedProperties);
  if (schemas.length > 0 || part.additionalProperties === undefined) return schemas;
  return [part.additionalProperties];
}
