import type { ModelInterface } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { ANSWER_SHARE_DEFAULT, ANSWER_SHARE_MAX } from '../core/limits.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { CountPrompt } from './count-prompt.ts';
import type { Generate, Generation } from './generation.ts';

/** A request whose history can be shortened at its beginning. */
export interface Shortenable {
  /** How many of the oldest turns may be left out. */
  readonly turns: number;
  readonly without: (dropped: number) => GenerationRequest;
}

export interface FittedGeneration extends Generation {
  /** Turns that were left out. */
  readonly dropped: number;
}

/**
 * Runs a request with as much of its history as fits: all of it, where the context holds that; else with the fewest turns
 * left out that leave room for the answer, or with none of them.
 * @throws ServiceError as a generation; `context-exceeded` only where the request is too long without any turn.
 */
export type FitHistory = (
  request: Shortenable,
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<FittedGeneration>;

interface Needs {
  readonly generate: Generate;
  readonly countPrompt: CountPrompt;
}

export function createFitHistory({ generate, countPrompt }: Needs): FitHistory {
  return async ({ turns, without }, on, context) => {
    let dropped = 0;
    for (;;) {
      try {
        return { ...(await generate(without(dropped), on, context)), dropped };
      } catch (error) {
        if (!(error instanceof ServiceError) || error.kind !== 'context-exceeded' || dropped >= turns) throw error;
        const bounds = { from: dropped + 1, to: turns };
        const fits = promptTokensMax(without(0), error);
        const count = async (without_: number): Promise<number> =>
          (await countPrompt(without(without_), on, context)).tokens;
        dropped = (fits === undefined ? undefined : await fewest(bounds, fits, count)) ?? halfway(bounds);
      }
    }
  };
}

/** Tokens of a prompt that leaves the answer its room; undefined where nobody said how many the context holds. */
function promptTokensMax(
  { maxTotalTokens, maxTokens }: GenerationRequest,
  { excess }: ServiceError,
): number | undefined {
  if (!excess) return undefined;
  const context = excess.tokensMax + 1;
  const wish = maxTotalTokens ?? maxTokens ?? context * ANSWER_SHARE_DEFAULT;
  return Math.floor(context - Math.min(wish, context * ANSWER_SHARE_MAX));
}

interface Bounds {
  readonly from: number;
  readonly to: number;
}

/** By bisection. @returns undefined where the engine cannot count. */
async function fewest(
  { from, to }: Bounds,
  tokensMax: number,
  count: (dropped: number) => Promise<number>,
): Promise<number | undefined> {
  let [low, high] = [from, to];
  try {
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((await count(middle)) <= tokensMax) high = middle;
      else low = middle + 1;
    }
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'unsupported') return undefined;
    throw error;
  }
  return low;
}

const halfway = ({ from, to }: Bounds): number => Math.floor((from + to) / 2);
