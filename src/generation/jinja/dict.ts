import { Float, Markup, PythonObject, Tuple, typeError, Undefined, getTypeName, type Value } from './values.ts';

/** A key by which a JavaScript map finds the same members as Python: 1, 1.0 and True are equal. */
type MapKey = string | number | null | PythonObject;

/** Python's dict. Keys keep their order and the form in which they were first set. */
export class Dict extends PythonObject {
  readonly typeName = 'dict';
  readonly #values = new Map<MapKey, Value>();
  /** Keys that differ from those of the map. */
  #originalKeys: Map<MapKey, Value> | undefined;

  static from(entries: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict();
    for (const [key, value] of entries) dict.set(key, value);
    return dict;
  }

  get size(): number {
    return this.#values.size;
  }

  /** Returns the member's value; undefined when there is none. @throws TemplateError for a key that cannot be one. */
  get(key: Value): Value | undefined {
    return this.#values.get(typeof key === 'string' ? key : toMapKey(key));
  }

  has(key: Value): boolean {
    return this.#values.has(toMapKey(key));
  }

  set(key: Value, value: Value): void {
    const mapKey = toMapKey(key);
    if (mapKey !== key && !this.#values.has(mapKey)) (this.#originalKeys ??= new Map()).set(mapKey, key);
    this.#values.set(mapKey, value);
  }

  delete(key: Value): void {
    this.#values.delete(toMapKey(key));
    this.#originalKeys?.delete(toMapKey(key));
  }

  *keys(): Generator<Value, undefined> {
    for (const key of this.#values.keys()) yield this.#originalKeys?.get(key) ?? (key as Value);
  }

  values(): Iterator<Value> & Iterable<Value> {
    return this.#values.values();
  }

  *entries(): Generator<readonly [Value, Value], undefined> {
    for (const [key, value] of this.#values) yield [this.#originalKeys?.get(key) ?? (key as Value), value];
  }
}

/** The keys, values or items of a dict, which have a length but no indexes. */
export class DictView extends PythonObject {
  readonly typeName: 'dict_keys' | 'dict_values' | 'dict_items';
  readonly dict: Dict;

  constructor(typeName: DictView['typeName'], dict: Dict) {
    super();
    this.typeName = typeName;
    this.dict = dict;
  }

  *items(): Generator<Value, undefined> {
    if (this.typeName === 'dict_keys') yield* this.dict.keys();
    else if (this.typeName === 'dict_values') yield* this.dict.values();
    else for (const [key, value] of this.dict.entries()) yield new Tuple([key, value]);
  }
}

/** @throws TemplateError `TypeError` for a value that Python cannot hash. */
export function toMapKey(key: Value): MapKey {
  if (typeof key === 'string' || typeof key === 'number' || key === null) return key;
  if (typeof key === 'boolean') return Number(key);
  if (Array.isArray(key) || key instanceof Dict) throw typeError(`unhashable type: '${getTypeName(key)}'`);
  if (key instanceof Float) return key.value;
  if (key instanceof Markup) return key.text;
  // Starts with a character that no text of a template starts with in practice.
  if (key instanceof Tuple) return `\uFFFF${key.items.map((item) => describeKey(toMapKey(item))).join('\uFFFF')}`;
  return key instanceof Undefined ? '\uFFFFundefined' : key;
}

const describeKey = (key: MapKey): string =>
  key instanceof PythonObject ? key.typeName : `${typeof key}${String(key)}`;

/** Converts JSON values to those of templates. `convertText` is applied to each string, also to names of members. */
export function toValue(json: unknown, convertText: (text: string) => string): Value {
  if (json === null || typeof json === 'boolean' || typeof json === 'number') return json;
  if (typeof json === 'string') return convertText(json);
  if (Array.isArray(json)) return json.map((item) => toValue(item, convertText));
  if (typeof json !== 'object') return null;
  const dict = new Dict();
  for (const [name, value] of Object.entries(json))
    if (value !== undefined) dict.set(convertText(name), toValue(value, convertText));
  return dict;
}
