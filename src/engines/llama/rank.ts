import type { RankingEngine } from '../engine.ts';
import type { SideWorkDeps } from './embed.ts';
import type { NativeModel } from './native-model.ts';
import { createLazyLoader } from './lazy-loader.ts';
import { RefusalError } from './refusal-error.ts';
import { tokenizeText, createTooLongError } from './tokenize-text.ts';

/** Ranks documents in the engine process; throws RefusalError for a rejected request. */
export type RankDocuments = RankingEngine['rank'];

/** Creates the ranking function. It scores one document at a time, between ticks, in a context created on first use. */
export function createRank(model: NativeModel, { between, taskQueue }: SideWorkDeps): RankDocuments {
  const open = createLazyLoader(() => model.openRanking());

  return async ({ owner, query, documents }, signal) => {
    const ranking = await open();
    if (!ranking)
      throw new RefusalError({
        kind: 'unsupported',
        message: 'This model is not a reranking model.',
        param: 'model',
      });
    const tokensMax = ranking.tokensMax;
    // Rejects texts that are far too long before the library reads all of them.
    if (tokenizeText(model, query, tokensMax).length === 0)
      throw createTooLongError(query, { tokens: 0, tokensMax: tokensMax });
    let tokens = 0;
    for (const document of documents) {
      tokenizeText(model, document, tokensMax);
      const pairTokens = ranking.countTokens(query.text, document.text);
      if (pairTokens > tokensMax)
        throw createTooLongError(document, { tokens: `with the query ${pairTokens}`, tokensMax: tokensMax });
      tokens += pairTokens;
      // Gives other requests a chance to run between two texts.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const scores = await taskQueue.run(
      owner,
      documents.map((document) => () => between(() => ranking.score(query.text, document.text))),
      signal,
    );
    return { scores, tokens };
  };
}
