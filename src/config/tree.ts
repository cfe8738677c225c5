/** Nested mappings as the file has them, and dotted paths into them. */
export type Tree = { [name: string]: unknown };

export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T;

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function getIn(tree: unknown, path: readonly PropertyKey[]): unknown {
  let value = tree;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

/** Leaves a tree alone in which something else than a mapping stands in the way: the schema will name it. */
export function setIn(tree: Tree, path: readonly string[], value: unknown): void {
  let inner = tree;
  for (const name of path.slice(0, -1)) {
    const next = Object.hasOwn(inner, name) ? inner[name] : undefined;
    if (next === undefined) inner = inner[name] = {};
    else if (isTree(next)) inner = next;
    else return;
  }
  inner[path.at(-1) ?? ''] = value;
}

/** Everything that is no mapping, with its dotted path; `opaque` names mappings that are not looked into. */
export function* leavesOf(
  tree: unknown,
  opaque: ReadonlySet<string>,
  path = '',
): Generator<readonly [path: string, value: unknown]> {
  if (!isTree(tree) || opaque.has(path)) {
    if (tree !== undefined) yield [path, tree];
    return;
  }
  for (const [name, value] of Object.entries(tree)) yield* leavesOf(value, opaque, path ? `${path}.${name}` : name);
}

export function deepFreeze<T>(value: T): DeepReadonly<T>;
export function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
