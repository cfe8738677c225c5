import { z } from 'zod';
import type { RankingEngine, RankingRequest, Rankings } from '../engine.ts';
import { ask } from '../remote/ask.ts';
import type { CallOptions } from '../remote/connection.ts';
import { PoolingUsage, inPlaces, naming } from './embeddings.ts';
import type { PoolingNeeds } from './embeddings.ts';

const Index = z.int().min(0).nullish();

const Results = z.object({
  results: z.array(z.object({ index: Index, relevance_score: z.number() })),
  usage: PoolingUsage,
});

/** Another server's form: the list itself. */
const List = z.array(z.object({ index: Index, score: z.number() })).transform((list) => ({
  results: list.map(({ index, score }) => ({ index, relevance_score: score })),
  usage: undefined,
}));

const Answered = z.union([Results, List]);

export interface RankingNeeds extends PoolingNeeds {
  readonly areLogits: () => boolean;
}

/**
 * Scores by `/rerank`. Where the server gives logits, the logistic function makes probabilities of them, as the embedded
 * engine does; where it gives probabilities they stay. A model without an activation of its own gives logits at any
 * server: one score outside 0 to 1 shows it, and then all scores of the answer are logits.
 */
export function createRemoteRanking({ connection, model, countTexts, areLogits }: RankingNeeds): RankingEngine {
  const { faults } = connection;

  const rank = async ({ query, documents }: RankingRequest, options: CallOptions): Promise<Rankings> => {
    const texts = documents.map(({ text }) => text);
    const body = { model, query: query.text, documents: texts };
    const value = await ask(connection, 'rerank', { ...options, body }).catch(naming(documents));
    const answered = Answered.safeParse(value);
    if (!answered.success) throw faults.failed('answered with something that is no list of scores');
    const { results, usage } = answered.data;
    const raw = inPlaces(results, documents.length, ({ relevance_score: score }) => score);
    if (!raw) throw faults.failed(`sent another number of scores than ${documents.length}`);
    const tokens =
      usage?.total_tokens ||
      usage?.prompt_tokens ||
      (await countTexts([...texts, ...texts.map(() => query.text)], options));
    return { scores: toProbabilities(raw, areLogits()), tokens: tokens ?? documents.length };
  };

  return { rank: (request, signal) => rank(request, { requestId: request.id, signal }) };
}

function toProbabilities(scores: readonly number[], areLogits: boolean): readonly number[] {
  const isRaw = areLogits || scores.some((score) => score < 0 || score > 1);
  return isRaw ? scores.map((score) => 1 / (1 + Math.exp(-score))) : scores;
}
