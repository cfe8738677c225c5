import { isRecord } from '../lib/is-record.ts';

/** Nested mappings, as in the configuration file. */
export type ConfigTree = { [name: string]: unknown };

export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T;

/**
 * Sets a value and creates missing mappings. Does nothing if the path leads through another type; the schema reports
 * it.
 */
export function setIn(tree: ConfigTree, path: readonly string[], value: unknown): void {
  let inner = tree;
  for (const name of path.slice(0, -1)) {
    const next = Object.hasOwn(inner, name) ? inner[name] : undefined;
    if (next === undefined) inner = inner[name] = {};
    else if (isRecord(next)) inner = next;
    else return;
  }
  inner[path.at(-1) ?? ''] = value;
}

/** Lists all values that are not mappings, with their dotted paths. Mappings in `opaque` count as values. */
export function* listLeaves(
  tree: unknown,
  opaque: ReadonlySet<string>,
  path = '',
): Generator<readonly [path: string, value: unknown]> {
  if (!isRecord(tree) || opaque.has(path)) {
    if (tree !== undefined) yield [path, tree];
    return;
  }
  for (const [name, value] of Object.entries(tree)) yield* listLeaves(value, opaque, path ? `${path}.${name}` : name);
}

export function deepFreeze<T>(value: T): DeepReadonly<T>;
export function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
