import { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { nearMatches } from './near-matches.ts';
import { redact } from './redact.ts';
import { getIn, type Tree } from './tree.ts';

/** What is wrong with one setting. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  /** As in `must be true or false`. */
  readonly rule: string;
  /** Whether the value found there explains it. */
  readonly showsValue: boolean;
}

/** Where a setting came from, for the person who has to mend it. */
export type OriginOf = (path: string) => string;

/** All problems at once, a line each: path, rule, value, origin. Kind `invalid-request`: a command line's exit code 2. */
export function configError(problems: readonly Problem[], tree: Tree, originOf: OriginOf): ServiceError {
  const lines = problems.map(({ path, rule, showsValue }) => {
    const dotted = path.join('.');
    const value = showsValue ? `, got ${shown(getIn(tree, path), String(path.at(-1)))}` : '';
    return `${dotted} ${rule}${value} (${originOf(dotted)})`;
  });
  const heading = lines.length === 1 ? 'The configuration is not valid:' : 'The configuration has several problems:';
  return new ServiceError('invalid-request', [heading, ...lines].join('\n  '), { param: problems[0]?.path.join('.') });
}

export function problemsOf(error: z.ZodError, schema: z.ZodType): Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, rule: issue.message, showsValue: true }];
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      rule: `is not a setting${hint(nearMatches(key, known), known)}`,
      showsValue: false,
    }));
  });
}

const hint = (near: readonly string[], known: readonly string[]): string =>
  known.length === 0
    ? ''
    : near.length > 0
      ? `; did you mean ${near.join(' or ')}?`
      : `; there are ${known.join(', ')}`;

function shown(value: unknown, name: string): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(redact(value, name));
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** The names that a mapping at `path` may have. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let at: unknown = schema;
  for (const name of [...path, undefined]) {
    while (at instanceof z.ZodDefault || at instanceof z.ZodPrefault || at instanceof z.ZodOptional) at = at.unwrap();
    if (name === undefined) break;
    if (at instanceof z.ZodObject) at = at.shape[String(name)];
    else if (at instanceof z.ZodRecord) at = at.valueType;
  }
  if (at instanceof z.ZodObject) return Object.keys(at.shape);
  if (at instanceof z.ZodRecord && at.keyType instanceof z.ZodEnum) return at.keyType.options.map(String);
  return [];
}
