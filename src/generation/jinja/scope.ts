import type { Rendering } from './rendering.ts';
import { orElse, Undefined, type Value } from './values.ts';

/** The variables of a tag; those of the tags around it are visible in it. */
export class Scope {
  readonly rendering: Rendering;
  readonly #parent: Scope | undefined;
  readonly #variables: Map<string, Value>;

  constructor(rendering: Rendering, parent?: Scope, variables = new Map<string, Value>()) {
    this.rendering = rendering;
    this.#parent = parent;
    this.#variables = variables;
  }

  createInner(): Scope {
    return new Scope(this.rendering, this);
  }

  get(name: string): Value {
    return orElse(this.#find(name), () => new Undefined(`'${name}' is undefined`));
  }

  #find(name: string): Value | undefined {
    const value = this.#variables.get(name);
    return value === undefined && this.#parent ? this.#parent.#find(name) : value;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}
