import type { RankResult } from '../../generation/rank.ts';

/**
 * Encodes the results list that the native and the compatible interface share.
 * @param documents Set if the caller requested the texts of the documents.
 */
export const encodeRerankResults = ({ results }: RankResult, documents?: readonly string[]): readonly object[] =>
  results.map(({ index, score }) => ({
    index,
    relevance_score: score,
    ...(documents ? { document: { text: documents[index] } } : {}),
  }));
