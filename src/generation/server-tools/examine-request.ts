import { applyEngineModelInfo } from '../../catalogue/engine-model-info.ts';
import type { Catalogue, ResolvedModel } from '../../catalogue/model.ts';
import type { RequestContext } from '../../core/context.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';
import { checkAbilities, detectModelInfo, findIgnoredFields } from '../check-abilities.ts';
import { createPromptRenderer } from '../prompt-renderer.ts';
import type { CountPrompt } from '../count-prompt.ts';
import { resolveTarget, type ModelTarget } from '../model-target.ts';
import { createPromptTooLongError } from '../../core/generation-errors.ts';

/** Properties of a request that are known before its model runs. */
export interface RequestExamination {
  /** Context length: prompt and answer tokens together. */
  readonly contextTokens: number;
  /** Prompt tokens of the original conversation; undefined when the engine cannot count. */
  readonly promptTokens: number | undefined;
  /** The model tends to repeat calls whose result it already has. */
  readonly repeatsCalls: boolean;
  /** Ignored request fields, as a generation reports them. */
  readonly ignored: readonly string[];
}

/**
 * Examines a request with several model runs, so that unsupported fields and too long prompts are refused before any
 * work.
 * @throws ServiceError of any kind that a generation throws, including `context-exceeded` when the engine can count.
 */
export type ExamineRequest = (
  request: GenerationRequest,
  on: ModelTarget,
  context: RequestContext,
) => Promise<RequestExamination>;

interface ExamineDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
  readonly countPrompt: CountPrompt;
}

/** Waits in no queue. */
export function createExamineRequest({ catalogue, acquireEngine, countPrompt }: ExamineDeps): ExamineRequest {
  const getRenderer = createPromptRenderer();
  return async (request, on, context) => {
    const resolved = await resolveTarget(catalogue, request.model, on, context.owner);
    const { engine, release } = await acquireEngine(resolved);
    try {
      const loaded = await engine.loadModel();
      const entry = applyEngineModelInfo(resolved.entry, detectModelInfo(loaded, engine.capabilities, getRenderer));
      const deploymentTokens = resolved.deployment?.record.spec.maxContextLength ?? Infinity;
      const contextTokens = Math.min(deploymentTokens, loaded.contextTokens);
      const repeatsCalls = entry.repeatsCalls === true;
      if (engine.capabilities.input === 'chat') {
        checkAbilities(request, { ...resolved, entry }, engine);
        const ignored = findIgnoredFields(request, entry, engine);
        return { contextTokens, promptTokens: undefined, repeatsCalls, ignored };
      }
      const { tokens, ignored } = await countPrompt(request, resolved, context);
      if (tokens >= contextTokens) throw createPromptTooLongError(tokens, contextTokens);
      return { contextTokens, promptTokens: tokens, repeatsCalls, ignored };
    } finally {
      release();
    }
  };
}
