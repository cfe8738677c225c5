import { z } from 'zod';
import type { RankingEngine, RankingRequest, Rankings } from '../engine.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import type { UpstreamCallOptions } from '../remote/upstream-client.ts';
import { PoolingUsage, orderByIndex, attributeInputError, type PoolingDeps } from './remote-embeddings.ts';

const Index = z.int().min(0).nullish();

const RerankResults = z.object({
  results: z.array(z.object({ index: Index, relevance_score: z.number() })),
  usage: PoolingUsage,
});

/** Response of servers that send the list itself. */
const ScoreList = z.array(z.object({ index: Index, score: z.number() })).transform((list) => ({
  results: list.map(({ index, score }) => ({ index, relevance_score: score })),
  usage: undefined,
}));

const RankingResponse = z.union([RerankResults, ScoreList]);

export interface RemoteRankingDeps extends PoolingDeps {
  readonly areLogits: () => boolean;
}

/**
 * Scores documents with the `/rerank` route. If the server returns logits, they are converted to probabilities with the
 * logistic function, as in the embedded engine; probabilities are kept. A model without an activation function returns
 * logits at any server: one score outside 0 to 1 shows that all scores of the response are logits.
 */
export function createRemoteRanking({ client, model, countTexts, areLogits }: RemoteRankingDeps): RankingEngine {
  const { errors } = client;

  const rank = async ({ query, documents }: RankingRequest, options: UpstreamCallOptions): Promise<Rankings> => {
    const texts = documents.map(({ text }) => text);
    const body = { model, query: query.text, documents: texts };
    const value = await requestUpstreamJson(client, 'rerank', { ...options, body }).catch(
      attributeInputError(documents),
    );
    const parsed = RankingResponse.safeParse(value);
    if (!parsed.success) throw errors.createFailure('sent a response without a valid list of scores');
    const { results, usage } = parsed.data;
    const rawScores = orderByIndex(results, documents.length, ({ relevance_score: score }) => score);
    if (!rawScores) throw errors.createFailure(`did not send ${documents.length} scores`);
    const tokens =
      usage?.total_tokens ||
      usage?.prompt_tokens ||
      (await countTexts([...texts, ...texts.map(() => query.text)], options));
    return { scores: toProbabilities(rawScores, areLogits()), tokens: tokens ?? documents.length };
  };

  return { rank: (request, signal) => rank(request, { requestId: request.id, signal }) };
}

function toProbabilities(scores: readonly number[], areLogits: boolean): readonly number[] {
  const hasLogits = areLogits || scores.some((score) => score < 0 || score > 1);
  return hasLogits ? scores.map((score) => 1 / (1 + Math.exp(-score))) : scores;
}
