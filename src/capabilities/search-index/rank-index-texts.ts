import type { Catalogue } from '../../catalogue/model.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { ModelEngines } from '../../service/model-engines.ts';
import { isAccepting } from './embed-index-texts.ts';
import type { RankTexts } from './search-index.ts';

export interface RankIndexTextsDeps {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly engines: Pick<ModelEngines, 'rankingFor' | 'getState'>;
}

/** Catalogue entry that sorts the results of the local index. It has no weights unless the configuration names some. */
const RANKING_MODEL = 'svc-rerank';

/**
 * Creates the function that sorts texts for the local index. It returns undefined when no reranking model is configured
 * or installed.
 */
export function createRankIndexTexts({ catalogue, engines }: RankIndexTextsDeps): RankTexts {
  return async (question, texts, signal) => {
    const entry = catalogue.find(RANKING_MODEL);
    if (!entry || !(await isAccepting(entry, engines))) return undefined;
    const { engine, release } = await engines.rankingFor({ requestedName: RANKING_MODEL, entry });
    try {
      const owner = { workspace: '', key: 'search-index', priority: 'live' } as const;
      const documents = texts.map((text, index) => ({ text, field: `texts[${index}]` }));
      const query = { text: question, field: 'question' };
      const request = { id: systemIdGenerator.createRequestId(), owner, query, documents };
      return (await engine.rank(request, signal)).scores;
    } finally {
      release();
    }
  };
}
