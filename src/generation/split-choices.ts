import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { Usage } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import { generateEach } from './generate-each.ts';
import type { Generate } from './generation.ts';
import { resolveTarget } from './model-target.ts';

interface SplitChoicesDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
}

/**
 * Wraps `generate` for requests with more choices (n) than the engine generates at once, such as those of a deployment
 * with a small capacity: several runs, one after another, form one answer. Its usage counts the prompt once.
 */
export const createSplitChoices =
  ({ catalogue, acquireEngine }: SplitChoicesDeps) =>
  (generate: Generate): Generate =>
  async (request, on, context) => {
    if (request.choices === 1) return await generate(request, on, context);
    const resolved = await resolveTarget(catalogue, request.model, on, context.owner);
    const { engine, release } = await acquireEngine(resolved);
    let choicesMax: number;
    try {
      // A server reports how many choices it generates once it is loaded.
      await engine.loadModel();
      ({ choicesMax } = engine.capabilities);
    } finally {
      release();
    }
    if (request.choices <= choicesMax) return await generate(request, resolved, context);
    const [first, ...others] = splitRequest(request, Math.max(1, choicesMax));
    return await generateEach(generate, [first, ...others], resolved, context, addChoiceUsage);
  };

/** Choices of one request differ in their seed: that of the next run continues where the one before ends. */
function splitRequest(
  request: GenerationRequest,
  choicesMax: number,
): readonly [GenerationRequest, ...GenerationRequest[]] {
  const { sampling, choices } = request;
  const createPart = (start: number): GenerationRequest => ({
    ...request,
    choices: Math.min(choicesMax, choices - start),
    ...(sampling.seed === undefined ? {} : { sampling: { ...sampling, seed: (sampling.seed + start) % SEED_RANGE } }),
  });
  const starts = Array.from({ length: Math.ceil(choices / choicesMax) - 1 }, (_, part) => (part + 1) * choicesMax);
  return [createPart(0), ...starts.map(createPart)];
}

/** Number of valid seeds. */
const SEED_RANGE = 2 ** 31;

/** Adds the output of a later run; the prompt is that of the first run. */
const addChoiceUsage = (total: Usage, next: Usage): Usage => ({
  ...total,
  completionTokens: total.completionTokens + next.completionTokens,
  ...(total.reasoningTokens === undefined && next.reasoningTokens === undefined
    ? {}
    : { reasoningTokens: (total.reasoningTokens ?? 0) + (next.reasoningTokens ?? 0) }),
});
