import type { LinkedAbort } from '../lib/linked-abort.ts';
import { linkedAbort } from '../lib/linked-abort.ts';
import { tookTooLong } from './fetch-refusals.ts';

/** The time that a fetch has, as a signal: it aborts with the caller's, or with what took too long. */
export interface FetchDeadlines {
  readonly signal: AbortSignal;
  /** What is waited for now, in the place of what was before. @param what As in "needed more than 5 s to connect". */
  begin(what: string, ms: number): void;
  /** Nothing but the whole is waited for. */
  rest(): void;
  end(): void;
}

export function createFetchDeadlines(caller: AbortSignal | undefined, wholeMs: number): FetchDeadlines {
  const abort: LinkedAbort = linkedAbort(caller ?? new AbortController().signal);
  let stage: NodeJS.Timeout | undefined;
  const whole = setTimeout(() => abort.abort(tookTooLong('in all', wholeMs)), wholeMs);
  return {
    signal: abort.signal,
    begin(what, ms) {
      clearTimeout(stage);
      stage = setTimeout(() => abort.abort(tookTooLong(what, ms)), ms);
    },
    rest: () => clearTimeout(stage),
    end() {
      clearTimeout(stage);
      clearTimeout(whole);
      abort.unlink();
    },
  };
}
