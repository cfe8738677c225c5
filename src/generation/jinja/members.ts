import { Dict } from './dict.ts';
import { DICT_METHODS, LIST_METHODS } from './collection-methods.ts';
import { createMissing, findItem, slice } from './items.ts';
import type { Rendering } from './rendering.ts';
import { STRING_METHODS } from './string-methods.ts';
import { orElse, Callable, isString, PythonObject, Slice, Tuple, Undefined, type Value } from './values.ts';

/** Returns `object.name`: an attribute, else the member of this name, else undefined. */
export function getAttribute(rendering: Rendering, object: Value, name: string): Value {
  if (object instanceof Undefined) return object.fail();
  const attribute = findAttribute(rendering, object, name);
  const found = attribute === undefined ? findItem(rendering, object, name) : attribute;
  return orElse(found, () => createMissing(rendering, object, name));
}

/** Returns `object[key]`: the member, else an attribute of this name, else undefined. */
export function getItem(rendering: Rendering, object: Value, key: Value): Value {
  if (object instanceof Undefined) return object.fail();
  const item = key instanceof Slice ? slice(rendering, object, key) : findItem(rendering, object, key);
  const found = item === undefined && typeof key === 'string' ? findAttribute(rendering, object, key) : item;
  return orElse(found, () => createMissing(rendering, object, key));
}

/** Returns an attribute or method of Python's types; undefined when there is none. */
export function findAttribute(rendering: Rendering, object: Value, name: string): Value | undefined {
  if (name.startsWith('__')) return new Undefined(`access to attribute '${name}' is unsafe.`, 'SecurityError');
  const methods = isString(object)
    ? STRING_METHODS
    : object instanceof Dict
      ? DICT_METHODS
      : Array.isArray(object) || object instanceof Tuple
        ? LIST_METHODS
        : undefined;
  const method = methods?.get(name);
  if (method)
    return new Callable(
      name,
      (positional, keyword) => {
        rendering.charge(object);
        return rendering.charge(method(rendering, object, positional, keyword));
      },
      'builtin_function_or_method',
    );
  return object instanceof PythonObject ? object.getAttribute(name) : undefined;
}
