import { applyEngineModelInfo } from '../catalogue/engine-model-info.ts';
import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineOwner, TextEngine } from '../engines/engine.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import { checkAbilities, detectModelInfo, findIgnoredFields } from './check-abilities.ts';
import { checkPromptLength, countRequestChars } from './check-prompt-length.ts';
import { toEngineOwner } from './engine-owner.ts';
import { estimateInputTokens } from './estimate-tokens.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import type { GenerationPlan } from './generation-plan.ts';
import { planRequest, type PlanDeps } from './plan.ts';
import { getModelLogFields } from './model-log-fields.ts';
import { resolveTarget, type ModelTarget } from './model-target.ts';
import { createPromptRenderer } from './prompt-renderer.ts';

export interface PromptTokenCount {
  readonly tokens: number;
  /** The number is an estimate: neither the server nor a loaded tokenizer of the model's family can count. */
  readonly isEstimated: boolean;
  /** Ignored request fields, as in a generation. */
  readonly ignored: readonly string[];
}

/**
 * Counts the tokens of the prompt that a generation of this request would start with: same template, tools and opening.
 * If the server of a model cannot count, the tokenizer of loaded weights of the same family counts; without one, the
 * number is an estimate.
 * @throws ServiceError as a generation does.
 */
export type CountPrompt = (
  request: GenerationRequest,
  on: ModelTarget,
  context: RequestContext,
) => Promise<PromptTokenCount>;

interface CountPromptDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
  /** Leases an engine that has the tokenizer of the model's family; undefined when none is loaded. */
  readonly acquireTokenizer?: (model: ResolvedModel) => Promise<EngineLease | undefined>;
  readonly getModelStyle: (model: ResolvedModel) => Pick<PlanDeps, 'defaultSystem' | 'toolFormat'>;
}

/** Counts without admission: no queue, no limits. */
export function createCountPrompt({
  catalogue,
  acquireEngine,
  acquireTokenizer,
  getModelStyle,
}: CountPromptDeps): CountPrompt {
  const getRenderer = createPromptRenderer();
  const plan = (request: GenerationRequest, model: ResolvedModel, engine: TextEngine): Promise<GenerationPlan> =>
    planRequest(request, {
      entry: model.entry,
      engine,
      getRenderer,
      // Nothing is generated: calls need no ids and answers no check.
      createCallId: () => '',
      checkAnswer: async () => undefined,
      ...getModelStyle(model),
    });

  /**
   * Counts with the tokenizer of the model's family. Returns undefined if there is none, or if it refuses what the server
   * may accept. Images have no size in another model's tokens.
   */
  const countWithFamily = async (
    request: GenerationRequest,
    model: ResolvedModel,
    owner: EngineOwner,
  ): Promise<number | undefined> => {
    if (request.messages.some(({ content }) => content.some(({ type }) => type !== 'text'))) return undefined;
    let lease: EngineLease | undefined;
    try {
      lease = await acquireTokenizer?.(model);
      if (!lease) return undefined;
      const { engineRequest } = await plan(request, model, lease.engine);
      return await lease.engine.countTokens(engineRequest.input, owner);
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      throw error;
    } finally {
      lease?.release();
    }
  };

  return async (request, on, { owner, priority, log }) => {
    const engineOwner = toEngineOwner({ owner, ...omitNullish({ priority }) });
    const resolved = await resolveTarget(catalogue, request.model, on, owner);
    log.add(getModelLogFields(resolved));
    const { engine, release } = await acquireEngine(resolved);
    try {
      const loaded = await engine.loadModel();
      const entry = applyEngineModelInfo(resolved.entry, detectModelInfo(loaded, engine.capabilities, getRenderer));
      const model = { ...resolved, entry };
      checkAbilities(request, model, engine);
      checkPromptLength(countRequestChars(request), loaded.contextTokens);
      const { engineRequest, ignored: ignoredByPlan } = await plan(request, model, engine);
      const ignored = [...findIgnoredFields(request, entry, engine), ...ignoredByPlan];
      const counted = await engine.countTokens(engineRequest.input, engineOwner).catch((error: unknown) => {
        if (error instanceof ServiceError && error.kind === 'unsupported') return undefined;
        throw error;
      });
      const tokens = counted ?? (await countWithFamily(request, model, engineOwner));
      return {
        tokens: tokens ?? estimateInputTokens(engineRequest.input),
        isEstimated: tokens === undefined,
        ignored,
      };
    } finally {
      release();
    }
  };
}
