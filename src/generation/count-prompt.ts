import { applyEngineModelInfo } from '../catalogue/engine-model-info.ts';
import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import { checkAbilities, detectModelInfo, findIgnoredFields } from './check-abilities.ts';
import { planRequest, type PlanDeps } from './plan.ts';
import { getModelLogFields } from './model-log-fields.ts';
import { resolveTarget, type ModelTarget } from './model-target.ts';
import { createPromptRenderer } from './prompt-renderer.ts';

export interface PromptTokenCount {
  readonly tokens: number;
  /** Ignored request fields, as in a generation. */
  readonly ignored: readonly string[];
}

/**
 * Counts the tokens of the prompt that a generation of this request would start with: same template, tools and opening.
 * @throws ServiceError as a generation does; `unsupported` when the engine cannot count.
 */
export type CountPrompt = (
  request: GenerationRequest,
  on: ModelTarget,
  context: RequestContext,
) => Promise<PromptTokenCount>;

interface CountPromptDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
  readonly getModelStyle: (model: ResolvedModel) => Pick<PlanDeps, 'defaultSystem' | 'toolFormat'>;
}

/** Counts without admission: no queue, no limits. */
export function createCountPrompt({ catalogue, acquireEngine, getModelStyle }: CountPromptDeps): CountPrompt {
  const getRenderer = createPromptRenderer();
  return async (request, on, { owner, log }) => {
    const resolved = resolveTarget(catalogue, request.model, on, owner);
    log.add(getModelLogFields(resolved));
    const { engine, release } = await acquireEngine(resolved);
    try {
      const entry = applyEngineModelInfo(
        resolved.entry,
        detectModelInfo(await engine.loadModel(), engine.capabilities),
      );
      const model = { ...resolved, entry };
      checkAbilities(request, model, engine);
      const plan = await planRequest(request, {
        entry,
        engine,
        getRenderer,
        // Nothing is generated: calls need no ids and answers no check.
        createCallId: () => '',
        checkAnswer: async () => undefined,
        ...getModelStyle(model),
      });
      const ignored = [...findIgnoredFields(request, entry, engine), ...plan.ignored];
      return { tokens: await engine.countTokens(plan.engineRequest.input), ignored };
    } finally {
      release();
    }
  };
}
