import { getLength, iterate } from './iterate.ts';
import { areEqual } from './operators.ts';
import type { Rendering } from './rendering.ts';
import { orElse, Callable, Tuple, typeError, Undefined, type Value } from './values.ts';

/** The variable `loop` of a `for` tag. */
export class Loop extends Callable {
  readonly #rendering: Rendering;
  readonly #source: Value;
  #iterator: Iterator<Value>;
  #length: number | undefined;
  #index0 = -1;
  #before: Value | undefined;
  #current: Value | undefined;
  #after: Value | undefined;
  #lastChanged: Value | undefined;
  readonly #depth0: number;

  /** @param recurse Renders the body with another sequence; absent unless the loop is recursive. */
  constructor(rendering: Rendering, source: Value, depth0: number, recurse: ((source: Value) => Value) | undefined) {
    super(
      'loop',
      ([inner]) => {
        if (!recurse) throw typeError("The loop must have the 'recursive' marker to be called recursively.");
        return recurse(inner ?? null);
      },
      'LoopContext',
    );
    this.#rendering = rendering;
    this.#source = source;
    this.#iterator = iterate(source);
    this.#depth0 = depth0;
  }

  /** Returns the next element; undefined behind the last. */
  next(): Value | undefined {
    const item = this.#peek();
    if (item === undefined) return undefined;
    this.#after = undefined;
    this.#index0++;
    this.#before = this.#current;
    this.#current = item;
    return item;
  }

  #peek(): Value | undefined {
    if (this.#after === undefined) {
      const { value, done } = this.#iterator.next();
      if (!done) this.#after = value;
    }
    return this.#after;
  }

  get #total(): number {
    this.#length ??= getLength(this.#source);
    if (this.#length === undefined) {
      const seen = this.#index0 + 1 + (this.#after === undefined ? 0 : 1);
      const rest: Value[] = [];
      for (let step = this.#iterator.next(); !step.done; step = this.#iterator.next()) rest.push(step.value);
      this.#rendering.spend(rest.length);
      this.#iterator = rest[Symbol.iterator]();
      this.#length = seen + rest.length;
    }
    return this.#length;
  }

  override getAttribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return this.#index0 + 1;
      case 'index0':
        return this.#index0;
      case 'first':
        return this.#index0 === 0;
      case 'last':
        return this.#peek() === undefined;
      case 'length':
        return this.#total;
      case 'revindex':
        return this.#total - this.#index0;
      case 'revindex0':
        return this.#total - this.#index0 - 1;
      case 'depth':
        return this.#depth0 + 1;
      case 'depth0':
        return this.#depth0;
      case 'previtem':
        return this.#index0 === 0 || this.#before === undefined
          ? new Undefined('there is no previous item')
          : this.#before;
      case 'nextitem':
        return orElse(this.#peek(), () => new Undefined('there is no next item'));
      case 'cycle':
        return new Callable('cycle', (items) => {
          if (items.length === 0) throw typeError('no items for cycling given');
          return items[this.#index0 % items.length] ?? null;
        });
      case 'changed':
        return new Callable('changed', (items) => this.#isChanged(new Tuple(items)));
      default:
        return undefined;
    }
  }

  #isChanged(value: Value): boolean {
    if (this.#lastChanged !== undefined && areEqual(this.#rendering, this.#lastChanged, value)) return false;
    this.#lastChanged = value;
    return true;
  }
}
