import { withKnown } from '../catalogue/known.ts';
import type { Catalogue, ModelInterface, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Lease } from '../engines/registry.ts';
import { checkAbilities, knownOf, unheardFields } from './abilities.ts';
import { planRequest } from './plan.ts';
import type { PlanNeeds } from './plan.ts';
import { modelFacts } from './model-facts.ts';
import { createPromptRenderer } from './prompt.ts';

export interface PromptCount {
  readonly tokens: number;
  /** As of a generation. */
  readonly ignored: readonly string[];
}

/**
 * Tokens of the prompt that a generation of this request would begin with: the same template, tools and opening.
 * @throws ServiceError as a generation refuses; `unsupported` where the engine cannot count.
 */
export type CountPrompt = (
  request: GenerationRequest,
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<PromptCount>;

interface Needs {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
  readonly styleOf: (model: ResolvedModel) => Pick<PlanNeeds, 'defaultSystem' | 'toolFormat'>;
}

/** Takes no place in any queue. */
export function createCountPrompt({ catalogue, engineFor, styleOf }: Needs): CountPrompt {
  const rendererOf = createPromptRenderer();
  return async (request, { interface: wanted }, { owner, log }) => {
    const resolved = catalogue.resolve(request.model, { interface: wanted, owner });
    log.add(modelFacts(resolved));
    const { engine, release } = await engineFor(resolved);
    try {
      const entry = withKnown(resolved.entry, knownOf(await engine.model(), engine.capabilities));
      const model = { ...resolved, entry };
      checkAbilities(request, model, engine);
      const { asked, unheard } = await planRequest(request, {
        entry,
        engine,
        rendererOf,
        // Nothing is generated: no call gets an id, no answer is checked.
        newCallId: () => '',
        problemOf: async () => undefined,
        ...styleOf(model),
      });
      const ignored = [...unheardFields(request, entry, engine), ...unheard];
      return { tokens: await engine.countTokens(asked.input), ignored };
    } finally {
      release();
    }
  };
}
