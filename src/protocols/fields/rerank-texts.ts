import type { RequestContext } from '../../core/context.ts';
import type { RankFunction } from '../../generation/rank.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';

export interface RerankDeps {
  readonly rank: RankFunction;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
}

export interface RerankRequest {
  readonly model: string;
  readonly input: { readonly query: string; readonly documents: readonly string[] };
  /** Path of the fields of `input`: empty, or a name with a dot. */
  readonly at: '' | 'input.';
  readonly parameters:
    | { readonly top_n?: number | null | undefined; readonly return_documents?: boolean | null | undefined }
    | null
    | undefined;
}

/**
 * Ranks texts and encodes the parts of the response that the native and the compatible interface share. The results
 * repeat the texts if the caller requested them.
 */
export async function rerankTexts(
  rank: RankFunction,
  { model, input: { query, documents }, at, parameters }: RerankRequest,
  context: RequestContext,
): Promise<{ readonly results: readonly object[]; readonly usage: object }> {
  const request = {
    model,
    query: { text: query.toWellFormed(), field: `${at}query` },
    documents: documents.map((text, index) => ({ text: text.toWellFormed(), field: `${at}documents[${index}]` })),
    ...omitNullish({ top: parameters?.top_n }),
  };
  const { results, promptTokens } = await rank(request, context);
  return {
    results: results.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(parameters?.return_documents ? { document: { text: documents[index] } } : {}),
    })),
    usage: { total_tokens: promptTokens },
  };
}
