import type { ServiceError } from '../../core/error.ts';

/** What is wrong with something that is whole; undefined when nothing is. A promise where somebody else looks at it. */
export type Verdict = string | undefined | Promise<string | undefined>;

/** Takes note of what has to be seen first: nothing more is told until it is fulfilled, and its rejection ends the run. */
export type Verify = (seen: Promise<void>) => void;

/** @throws what `errorOf` makes of the problem, or has `verify` throw it. */
export function heed(verdict: Verdict, verify: Verify, errorOf: (problem: string) => ServiceError): void {
  const settle = (problem: string | undefined): void => {
    if (problem !== undefined) throw errorOf(problem);
  };
  if (verdict === undefined || typeof verdict === 'string') settle(verdict);
  else verify(verdict.then(settle));
}
