import type { JsonSchema } from '../core/grammar.ts';
import type { Automaton } from './automaton.ts';
import type { Conjunction } from './conjunctions.ts';
import type { Keywords } from './keywords.ts';
import type { Languages } from './languages.ts';

/** What a value must be: one of these ways. Goals with the same ways are one object. */
export interface Goal {
  readonly key: string;
  readonly path: string;
  readonly ways: readonly Conjunction[];
}

/** What the readers of single keywords need to know about the whole schema. */
export interface Goals {
  readonly languages: Languages;
  /** The goal of satisfying all of these; none is any value. `path` is for refusals. */
  of(schemas: readonly JsonSchema[], path: string): Goal;
  /** The texts that satisfy all of these. */
  textsOf(schemas: readonly JsonSchema[], path: string): Automaton;
  /** Whether a value satisfies one schema's own keywords, without its allOf, anyOf, oneOf and `$ref`. */
  isValid(part: Keywords, value: unknown): boolean;
  /** Remembers why a value cannot be; said where nothing else can be either. */
  note(path: string, problem: string): undefined;
  refuse(path: string, problem: string): never;
}
