import { getItem } from './members.ts';
import type { Rendering } from './rendering.ts';
import { getText, isString, Undefined, type Value } from './values.ts';

/** Reads an attribute of an element. */
export type Getter = (item: Value) => Value;

/** Converts text to lower case, as filters compare it. */
export const ignoreCase = (value: Value): Value => (isString(value) ? getText(value).toLowerCase() : value);

/**
 * Creates a getter of a path such as `function.name` or `0.name`. Without a path it returns the element itself.
 *
 * @param fallback Replaces a missing attribute.
 */
export function createGetter(rendering: Rendering, path: Value | undefined, fallback: Value = null): Getter {
  const parts = path === undefined || path === null ? [] : isString(path) ? splitPath(getText(path)) : [path];
  return (item) => {
    rendering.spend(1);
    let value = item;
    for (const part of parts) {
      value = getItem(rendering, value, part);
      if (fallback !== null && value instanceof Undefined) value = fallback;
    }
    return value;
  };
}

const splitPath = (path: string): Value[] => path.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
