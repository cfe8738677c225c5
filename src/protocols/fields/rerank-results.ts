import type { Ranked } from '../../generation/rank.ts';

/** wire.md 10, rerank; the same in both interfaces. @param documents Present where their texts were asked for. */
export const rerankResults = ({ results }: Ranked, documents?: readonly string[]): readonly object[] =>
  results.map(({ index, score }) => ({
    index,
    relevance_score: score,
    ...(documents ? { document: { text: documents[index] } } : {}),
  }));
