import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { ANSWER_SHARE_DEFAULT, ANSWER_SHARE_MAX } from './limits.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { CountPrompt } from './count-prompt.ts';
import type { Generate, Generation } from './generation.ts';
import type { ModelTarget } from './model-target.ts';

/** A request whose history can be shortened at its beginning. */
export interface ShortenableRequest {
  /** Number of oldest turns that may be dropped. */
  readonly droppableTurns: number;
  readonly withoutOldestTurns: (dropped: number) => GenerationRequest;
}

export interface FittedGeneration extends Generation {
  /** Number of oldest turns that were dropped. */
  readonly droppedTurns: number;
}

/**
 * Runs a request with as much of its history as fits into the context. Drops the fewest oldest turns that leave enough
 * tokens for the answer.
 * @throws ServiceError as a generation does; `context-exceeded` only when the request is too long without any history.
 */
export type FitHistory = (
  request: ShortenableRequest,
  on: ModelTarget,
  context: RequestContext,
) => Promise<FittedGeneration>;

interface FitHistoryDeps {
  readonly generate: Generate;
  readonly countPrompt: CountPrompt;
}

export function createFitHistory({ generate, countPrompt }: FitHistoryDeps): FitHistory {
  return async ({ droppableTurns, withoutOldestTurns }, on, context) => {
    let droppedTurns = 0;
    for (;;) {
      try {
        return { ...(await generate(withoutOldestTurns(droppedTurns), on, context)), droppedTurns };
      } catch (error) {
        if (!(error instanceof ServiceError) || error.kind !== 'context-exceeded' || droppedTurns >= droppableTurns)
          throw error;
        const bounds = { from: droppedTurns + 1, to: droppableTurns };
        const fits = getPromptTokensMax(withoutOldestTurns(0), error);
        const count = async (candidate: number): Promise<number | undefined> => {
          const { tokens, isEstimated } = await countPrompt(withoutOldestTurns(candidate), on, context);
          return isEstimated ? undefined : tokens;
        };
        droppedTurns =
          (fits === undefined ? undefined : await findFewestDroppedTurns(bounds, fits, count)) ?? getMiddle(bounds);
      }
    }
  };
}

/** Returns the prompt length that leaves enough tokens for the answer; undefined when the context size is unknown. */
function getPromptTokensMax(
  { maxTotalTokens, maxTokens }: GenerationRequest,
  { tokenOverflow }: ServiceError,
): number | undefined {
  if (!tokenOverflow) return undefined;
  const context = tokenOverflow.tokensMax + 1;
  const requestedTokens = maxTotalTokens ?? maxTokens ?? context * ANSWER_SHARE_DEFAULT;
  return Math.floor(context - Math.min(requestedTokens, context * ANSWER_SHARE_MAX));
}

interface Bounds {
  readonly from: number;
  readonly to: number;
}

/**
 * Searches from the newest turn backwards in doubled steps, then by bisection. So no counted prompt is much longer than
 * the limit, however long the history is. @returns undefined when the tokens cannot be counted:
 * with estimates, every attempt could fail, and drop one turn.
 */
async function findFewestDroppedTurns(
  { from, to }: Bounds,
  tokensMax: number,
  count: (dropped: number) => Promise<number | undefined>,
): Promise<number | undefined> {
  let [low, high] = [from, to];
  for (let step = 1; low < high; step *= 2) {
    const older = Math.max(from, high - step);
    const tokens = await count(older);
    if (tokens === undefined) return undefined;
    if (tokens <= tokensMax) high = older;
    else low = older + 1;
    if (low > from) break;
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const tokens = await count(middle);
    if (tokens === undefined) return undefined;
    if (tokens <= tokensMax) high = middle;
    else low = middle + 1;
  }
  return low;
}

const getMiddle = ({ from, to }: Bounds): number => Math.floor((from + to) / 2);
