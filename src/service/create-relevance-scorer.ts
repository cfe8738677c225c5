import type { Catalogue, ModelEntry } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { ScoreRelevance } from '../core/relevance.ts';
import { toEngineOwner } from '../generation/engine-owner.ts';
import type { ModelState } from './engine-host.ts';
import type { ModelEngines } from './model-engines.ts';

export interface RelevanceScorerDeps {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly engines: Pick<ModelEngines, 'embeddingsFor' | 'rankingFor' | 'getState'>;
}

/** Catalogue entries that compare texts. */
const RANKING_MODEL = 'svc-rerank';
const EMBEDDING_MODEL = 'svc-embed';

/** States in which a model answers without a download. */
const READY_STATES: readonly ModelState['state'][] = ['ready', 'on-demand', 'starting'];

/** Characters of a text that are compared. Models for embeddings read some hundred tokens. */
const TEXT_CHARS_MAX = 600;

/** Creates the scorer from the ranking model, if one is configured, else from the embedding model. */
export function createRelevanceScorer({ catalogue, engines }: RelevanceScorerDeps): ScoreRelevance {
  const findReady = async (name: string): Promise<ModelEntry | undefined> => {
    const entry = catalogue.find(name);
    return entry && READY_STATES.includes((await engines.getState(entry)).state) ? entry : undefined;
  };

  const score: ScoreRelevance = async (query, texts, context) => {
    const id = context.requestId;
    const owner = toEngineOwner(context);
    const toInput = (text: string, at: number) => ({
      text: text.slice(0, TEXT_CHARS_MAX).toWellFormed(),
      field: `texts[${at}]`,
    });
    const ranking = await findReady(RANKING_MODEL);
    if (ranking)
      return await withLease(engines.rankingFor({ requestedName: RANKING_MODEL, entry: ranking }), async (engine) => {
        const documents = texts.map(toInput);
        return (await engine.rank({ id, owner, query: toInput(query, 0), documents }, context.signal)).scores;
      });
    const embedding = await findReady(EMBEDDING_MODEL);
    if (!embedding) return undefined;
    return await withLease(
      engines.embeddingsFor({ requestedName: EMBEDDING_MODEL, entry: embedding }),
      async (engine) => {
        const inputs = [query, ...texts].map(toInput);
        const { vectors } = await engine.embed({ id, owner, inputs }, context.signal);
        const [first = [], ...others] = vectors;
        return others.map((vector) => computeCosine(first, vector));
      },
    );
  };

  return async (query, texts, context) => {
    try {
      const scores = await score(query, texts, context);
      return scores?.length === texts.length && scores.every(Number.isFinite) ? scores : undefined;
    } catch (error) {
      context.signal.throwIfAborted();
      logFailure(context, error);
      return undefined;
    }
  };
}

const logFailure = ({ log }: RequestContext, error: unknown): void =>
  log.warn('texts were compared by words only', { error: ServiceError.from(error).message });

async function withLease<Engine, Result>(
  lease: Promise<{ readonly engine: Engine; release(): void }>,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  const { engine, release } = await lease;
  try {
    return await work(engine);
  } finally {
    release();
  }
}

function computeCosine(one: readonly number[], other: readonly number[]): number {
  const product = one.reduce((sum, component, at) => sum + component * (other[at] ?? 0), 0);
  return product / (Math.hypot(...one) * Math.hypot(...other));
}
