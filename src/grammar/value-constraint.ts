import type { JsonSchema } from '../core/grammar.ts';
import type { Automaton } from './automaton.ts';
import type { Conjunction, GrammarDetail } from './conjunctions.ts';
import type { GrammarErrorOptions } from './grammar-error.ts';
import type { SchemaKeywords } from './keywords.ts';
import type { LanguageFactory } from './language-factory.ts';

/** The set of values that satisfy at least one of the conjunctions. Equal constraints are one object. */
export interface ValueConstraint {
  readonly key: string;
  readonly path: string;
  readonly conjunctions: readonly Conjunction[];
}

/** Services that the compilers of single keywords share for one schema. */
export interface CompileContext {
  readonly detail: GrammarDetail;
  readonly languages: LanguageFactory;
  /** Returns the constraint to satisfy all schemas; without schemas, any value. `path` is for error messages. */
  getConstraint(schemas: readonly JsonSchema[], path: string): ValueConstraint;
  /** Returns the language of the property names that satisfy all schemas. */
  createNameLanguage(schemas: readonly JsonSchema[], path: string): Automaton;
  /** Tells whether a value satisfies one schema's own keywords, except allOf, anyOf, oneOf and `$ref`. */
  isValid(part: SchemaKeywords, value: unknown): boolean;
  /** Records that a limit leaves a part of the schema out of the grammar, so that the check must cover it. */
  noteWide(): void;
  /** Records why a part of the schema allows no value; reported if the whole schema allows none. */
  noteImpossible(path: string, problem: string): undefined;
  throwError(path: string, problem: string, options?: GrammarErrorOptions): never;
}
