import { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { findNearMatches } from './near-matches.ts';
import { redact } from './redact.ts';
import type { ConfigTree } from './tree.ts';
import { getValueAt } from '../lib/get-value-at.ts';

/** A problem with one setting. */
export interface ConfigProblem {
  readonly path: readonly PropertyKey[];
  /** The violated rule, e.g. `must be true or false`. */
  readonly rule: string;
  /** Whether the message should show the value. */
  readonly showsValue: boolean;
}

/** Returns the origin of a setting, for the person who has to correct it. */
export type GetOrigin = (path: string) => string;

/** Creates one error for all problems, one line each: path, rule, value, origin. Exit code 2 on the command line. */
export function createConfigError(
  problems: readonly ConfigProblem[],
  tree: ConfigTree,
  getOrigin: GetOrigin,
): ServiceError {
  const lines = problems.map(({ path, rule, showsValue }) => {
    const dotted = path.join('.');
    const value = showsValue ? `, got ${formatValue(getValueAt(tree, path), String(path.at(-1)))}` : '';
    return `${dotted} ${rule}${value} (${getOrigin(dotted)})`;
  });
  const heading = lines.length === 1 ? 'The configuration is invalid:' : 'The configuration has several problems:';
  return new ServiceError('invalid-request', [heading, ...lines].join('\n  '), { param: problems[0]?.path.join('.') });
}

export function toConfigProblems(error: z.ZodError, schema: z.ZodType): ConfigProblem[] {
  return error.issues.flatMap((issue): ConfigProblem[] => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, rule: issue.message, showsValue: true }];
    const known = listKeysAt(schema, issue.path);
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      rule: `is not a setting${formatSuggestion(findNearMatches(key, known), known)}`,
      showsValue: false,
    }));
  });
}

const formatSuggestion = (near: readonly string[], known: readonly string[]): string =>
  known.length === 0
    ? ''
    : near.length > 0
      ? `; did you mean ${near.join(' or ')}?`
      : `; settings are ${known.join(', ')}`;

function formatValue(value: unknown, name: string): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(redact(value, name));
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** Lists the names that a mapping at `path` may have. */
function listKeysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
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
