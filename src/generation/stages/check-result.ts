import type { ServiceError } from '../../core/error.ts';

/**
 * Describes what is wrong with a complete value; undefined when nothing is. A promise when another thread checks it.
 */
export type CheckResult = string | undefined | Promise<string | undefined>;

/** Holds the current batch until the promise resolves. A rejection ends the run. */
export type HoldBatch = (check: Promise<void>) => void;

/** Throws the error for a problem, directly or through `holdBatch`. */
export function handleCheckResult(
  result: CheckResult,
  holdBatch: HoldBatch,
  createError: (problem: string) => ServiceError,
): void {
  const throwProblem = (problem: string | undefined): void => {
    if (problem !== undefined) throw createError(problem);
  };
  if (result === undefined || typeof result === 'string') throwProblem(result);
  else holdBatch(result.then(throwProblem));
}
