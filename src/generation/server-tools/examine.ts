import { withKnown } from '../../catalogue/known.ts';
import type { Catalogue, ModelInterface, ResolvedModel } from '../../catalogue/model.ts';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { Lease } from '../../engines/registry.ts';
import { checkAbilities, knownOf, unheardFields } from '../abilities.ts';
import type { CountPrompt } from '../count-prompt.ts';

/** What is known of a request before any of its runs. */
export interface Examined {
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  /** Of the conversation as it came; undefined where the engine cannot count. */
  readonly promptTokens: number | undefined;
  /** The model tends to call again what it has the result of already. */
  readonly repeatsCalls: boolean;
  /** As of a generation. */
  readonly ignored: readonly string[];
}

/**
 * Looks at a request of which several runs will be made, so that what its caller asks too much for is refused before any work.
 * @throws ServiceError as a generation refuses, `context-exceeded` among them where somebody can count.
 */
export type Examine = (
  request: GenerationRequest,
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<Examined>;

interface Needs {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
  readonly countPrompt: CountPrompt;
}

/** Takes no place in any queue. */
export function createExamine({ catalogue, engineFor, countPrompt }: Needs): Examine {
  return async (request, on, context) => {
    const resolved = catalogue.resolve(request.model, { interface: on.interface, owner: context.owner });
    const { engine, release } = await engineFor(resolved);
    try {
      const loaded = await engine.model();
      const entry = withKnown(resolved.entry, knownOf(loaded, engine.capabilities));
      const own = resolved.deployed?.record.spec.maxContextLength ?? Infinity;
      const contextTokens = Math.min(own, loaded.contextTokens);
      const repeatsCalls = entry.repeatsCalls === true;
      if (engine.capabilities.input === 'chat') {
        checkAbilities(request, { ...resolved, entry }, engine);
        const ignored = unheardFields(request, entry, engine);
        return { contextTokens, promptTokens: undefined, repeatsCalls, ignored };
      }
      const { tokens, ignored } = await countPrompt(request, on, context);
      if (tokens >= contextTokens) throw exceeded(tokens, contextTokens);
      return { contextTokens, promptTokens: tokens, repeatsCalls, ignored };
    } finally {
      release();
    }
  };
}

/** As an engine would refuse it. */
const exceeded = (tokens: number, contextTokens: number): ServiceError =>
  new ServiceError(
    'context-exceeded',
    `Range of input length should be [1, ${contextTokens - 1}] (the prompt has ${tokens} tokens, the model's context holds ${contextTokens})`,
    { param: 'messages', excess: { tokens, tokensMax: contextTokens - 1 } },
  );
