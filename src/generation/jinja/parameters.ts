import { isTrue } from './iterate.ts';
import { isString, getText, getTypeName, isInteger, typeError, type KeywordArguments, type Value } from './values.ts';

/** The arguments of a call, by the positions and names of its parameters. */
export class Arguments {
  readonly #name: string;
  readonly #values: (Value | undefined)[];

  /**
   * @param names Parameters in order; those that must be given come first.
   * @throws TemplateError `TypeError` for arguments that the parameters do not allow.
   */
  constructor(
    name: string,
    positional: readonly Value[],
    keyword: KeywordArguments,
    names: readonly string[],
    required: number,
  ) {
    this.#name = name;
    if (positional.length > names.length)
      throw typeError(`${name}() takes at most ${names.length} arguments (${positional.length} given)`);
    this.#values = [...positional];
    for (const [key, value] of keyword) {
      const index = names.indexOf(key);
      if (index < 0) throw typeError(`${name}() got an unexpected keyword argument '${key}'`);
      if (index < positional.length) throw typeError(`${name}() got multiple values for argument '${key}'`);
      this.#values[index] = value;
    }
    for (let i = 0; i < required; i++)
      if (this.#values[i] === undefined) throw typeError(`${name}() missing required argument '${names[i] ?? ''}'`);
  }

  get(index: number): Value | undefined {
    return this.#values[index];
  }

  /** Returns the argument; null (None) when there is none. */
  getOrNone(index: number): Value {
    return this.#values[index] ?? null;
  }

  isTrue(index: number, fallback = false): boolean {
    const value = this.#values[index];
    return value === undefined ? fallback : isTrue(value);
  }

  /** @throws TemplateError `TypeError` for another value than an integer. */
  integer(index: number, fallback: number): number {
    const value = this.#values[index];
    if (value === undefined) return fallback;
    if (!isInteger(value)) throw typeError(`${this.#name}(): '${getTypeName(value)}' object is not an integer`);
    return Number(value);
  }

  /** @throws TemplateError `TypeError` for another value than a text. */
  text(index: number, fallback = ''): string {
    const value = this.#values[index];
    if (value === undefined) return fallback;
    if (!isString(value)) throw typeError(`${this.#name}() argument must be str, not ${getTypeName(value)}`);
    return getText(value);
  }
}
