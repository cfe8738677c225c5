import type { JsonSchema } from '../core/grammar.ts';
import type { LanguageFactory } from './language-factory.ts';

/** Functions that the checks of single keywords use for contained values. */
export interface CheckContext {
  /** Returns the problem of a contained value; `at` is its path. */
  checkValue(schema: JsonSchema, value: unknown, at: string): string | undefined;
  readonly languages: LanguageFactory;
  /** Counts steps. @throws CheckLimitError above the limit. */
  countSteps(count: number): void;
}
