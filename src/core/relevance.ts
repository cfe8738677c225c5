import type { RequestContext } from './context.ts';

/**
 * Scores how closely texts match a query: higher is closer, and only scores of one call are comparable. Returns
 * undefined when no model for it is configured and ready, or when it fails.
 *
 * @throws the signal's reason only.
 */
export type ScoreRelevance = (
  query: string,
  texts: readonly string[],
  context: RequestContext,
) => Promise<readonly number[] | undefined>;
