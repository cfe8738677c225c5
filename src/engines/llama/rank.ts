import type { RankingEngine } from '../engine.ts';
import type { SideWorkNeeds } from './embed.ts';
import type { NativeModel } from './native-model.ts';
import { createOpened } from './opened.ts';
import { RefusedError } from './refused-error.ts';
import { textTokens, tooLong } from './text-tokens.ts';

/** What the engine process does for `RankingEngine.rank`, with RefusedError for refusals. */
export type Rank = RankingEngine['rank'];

/** Scores documents, one at a time between two ticks of the scheduler. The context for it is made when it is asked for first. */
export function createRank(model: NativeModel, { between, turns }: SideWorkNeeds): Rank {
  const opened = createOpened(() => model.openRanking());

  return async ({ owner, query, documents }, signal) => {
    const native = await opened();
    if (!native)
      throw new RefusedError({
        kind: 'unsupported',
        message: 'This model was not trained to rank documents.',
        param: 'model',
      });
    const max = native.tokensMax;
    // Far too long texts are found before the library reads all of them.
    if (textTokens(model, query, max).length === 0) throw tooLong(query, { tokens: 0, max });
    let tokens = 0;
    for (const document of documents) {
      textTokens(model, document, max);
      const together = native.tokens(query.text, document.text);
      if (together > max) throw tooLong(document, { tokens: `with the query ${together}`, max });
      tokens += together;
      // Between two texts everybody else is served.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const scores = await turns.run(
      owner,
      documents.map((document) => () => between(() => native.score(query.text, document.text))),
      signal,
    );
    return { scores, tokens };
  };
}
