import { TemplateError } from './template-error.ts';

/**
 * A value of Python. Integers and fractions are numbers; a float without a fraction is a `Float`. A list is an array.
 * Everything else is a `PythonObject`.
 */
export type Value = null | boolean | number | string | Value[] | PythonObject;

export type KeywordArguments = ReadonlyMap<string, Value>;

/** A value that Python prints and treats in its own way. */
export abstract class PythonObject {
  abstract readonly typeName: string;

  /** Returns an attribute; undefined when the object has none of this name. */
  getAttribute(_name: string): Value | undefined {
    return undefined;
  }
}

/** A float that a JavaScript number would not tell from an integer. */
export class Float extends PythonObject {
  readonly typeName = 'float';
  readonly value: number;

  constructor(value: number) {
    super();
    this.value = value;
  }
}

export const createFloat = (value: number): Value => (Number.isInteger(value) ? new Float(value) : value);

export class Tuple extends PythonObject {
  readonly typeName: string = 'tuple';
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }
}

/** A key and its values, as the filter `groupby` returns them. */
export class Group extends Tuple {
  override readonly typeName = '_GroupTuple';

  override getAttribute(name: string): Value | undefined {
    const index = ['grouper', 'list'].indexOf(name);
    return index < 0 ? undefined : this.items[index];
  }
}

/** A string that is marked as safe HTML: joining it with `+` escapes the other part. */
export class Markup extends PythonObject {
  readonly typeName = 'Markup';
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }
}

/** The value of a missing variable or member. Most uses throw its error. */
export class Undefined extends PythonObject {
  readonly typeName = 'Undefined';
  readonly message: string;
  readonly errorName: 'UndefinedError' | 'SecurityError';

  constructor(message: string, errorName: Undefined['errorName'] = 'UndefinedError') {
    super();
    this.message = message;
    this.errorName = errorName;
  }

  fail(): never {
    throw new TemplateError(this.errorName, this.message);
  }
}

export class Slice extends PythonObject {
  readonly typeName = 'slice';
  readonly parts: readonly Value[];

  constructor(parts: readonly Value[]) {
    super();
    this.parts = parts;
  }
}

export class Range extends PythonObject {
  readonly typeName = 'range';
  readonly start: number;
  readonly stop: number;
  readonly step: number;
  readonly length: number;

  constructor(start: number, stop: number, step: number) {
    super();
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  at(index: number): number {
    return this.start + index * this.step;
  }
}

/** A generator: it can be read once, and has no length. */
export class Generator extends PythonObject {
  readonly typeName: string;
  readonly iterator: Iterator<Value>;

  constructor(iterator: Iterator<Value>, typeName = 'generator') {
    super();
    this.iterator = iterator;
    this.typeName = typeName;
  }
}

export type NativeFunction = (positional: readonly Value[], keyword: KeywordArguments) => Value;

export class Callable extends PythonObject {
  readonly typeName: string;
  readonly name: string;
  readonly call: NativeFunction;

  constructor(name: string, call: NativeFunction, typeName = 'function') {
    super();
    this.name = name;
    this.call = call;
    this.typeName = typeName;
  }
}

/** The result of `namespace()`: the only object whose attributes a template can set. */
export class Namespace extends PythonObject {
  readonly typeName = 'Namespace';
  readonly attributes: Map<string, Value>;

  constructor(attributes: Map<string, Value>) {
    super();
    this.attributes = attributes;
  }

  override getAttribute(name: string): Value | undefined {
    return this.attributes.get(name);
  }
}

/** Returns Python's name of the value's type. */
export function getTypeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  if (typeof value === 'string') return 'str';
  return Array.isArray(value) ? 'list' : value.typeName;
}

/** Returns a value or, where there is none, another. None is a value. */
export const orElse = (value: Value | undefined, getOther: () => Value): Value =>
  value === undefined ? getOther() : value;

export const isString = (value: Value): value is string | Markup =>
  typeof value === 'string' || value instanceof Markup;

/** Returns the characters of a string or a safe string. */
export const getText = (value: string | Markup): string => (typeof value === 'string' ? value : value.text);

/** Returns a number's value, also that of a boolean; undefined for anything else. */
export function toNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return value instanceof Float ? value.value : undefined;
}

/** Whether the value is an integer; booleans are. */
export const isInteger = (value: Value): value is number | boolean =>
  typeof value === 'boolean' || (typeof value === 'number' && Number.isInteger(value));

export const typeError = (message: string): TemplateError => new TemplateError('TypeError', message);
