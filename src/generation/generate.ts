import type { Catalogue, ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { Usage } from '../core/event.ts';
import type { Phase } from '../core/prompt.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineInput, EngineRequest, EngineStart, TextEngine } from '../engines/engine.ts';
import type { Lease } from '../engines/registry.ts';
import { linkedAbort } from '../lib/linked-abort.ts';
import type { Admission } from './admission.ts';
import type { Generate } from './generation.ts';
import type { Ledger, Reservation } from './ledger.ts';
import { createPromptRenderer } from './prompt.ts';
import { runEvents } from './run.ts';
import { canThink, planThinking } from './thinking.ts';
import type { Ending } from './run.ts';

interface Needs {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  /** The engine that serves a model, held until the run is over; loads it if need be. */
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
  /** What the family of a model adds to prompt and stops. */
  readonly styleOf: (model: ResolvedModel) => {
    readonly defaultSystem?: string | undefined;
    readonly stopTokens: readonly string[];
  };
  readonly admission: Admission;
  readonly ledger: Ledger;
}

/** The one way from a request to its events. Every protocol calls it; none has a pipeline of its own. */
export function createGenerate({ catalogue, engineFor, styleOf, admission, ledger }: Needs): Generate {
  const rendererOf = createPromptRenderer();

  const toInput = async (
    request: GenerationRequest,
    entry: ModelEntry,
    engine: TextEngine,
    { defaultSystem }: ReturnType<Needs['styleOf']>,
  ): Promise<{ input: EngineInput; phases: readonly Phase[] }> => {
    if (engine.capabilities.input === 'chat')
      return { input: { type: 'messages', messages: request.messages }, phases: [] };
    const loaded = await engine.model();
    const earlierThoughts = !request.preserveThinking
      ? undefined
      : entry.abilities.thinking === 'native'
        ? 'field'
        : 'text';
    const prompt = rendererOf(loaded)(request.messages, { defaultSystem, earlierThoughts });
    const plan = planThinking(request, entry, engine, loaded);
    return {
      input: { type: 'segments', segments: plan ? [...prompt, ...plan.opening] : prompt },
      phases: plan?.phases ?? [],
    };
  };

  return async (request, { interface: wanted }, context) => {
    const model = catalogue.resolve(request.model, { interface: wanted, region: context.owner.region });
    context.log.add({ model: model.entry.name });
    const owned = { owner: context.owner, model: model.entry.name, choices: request.choices };
    const permit = await admission.admit(owned);
    let lease: Lease | undefined;
    let reservation: Reservation | undefined;
    const run = linkedAbort(context.signal);
    const over = (usage: Usage, how: Ending): void => {
      run.unlink();
      permit.release();
      lease?.release();
      reservation?.settle(usage, how);
    };
    try {
      lease = await engineFor(model);
      const { engine } = lease;
      checkAbilities(request, model, engine);
      const style = styleOf(model);
      const { input, phases } = await toInput(request, model.entry, engine, style);
      reservation = await ledger.reserve({ requestId: context.requestId, ...owned });
      const started = await engine.start(
        { ...toEngineRequest(request, model, style.stopTokens, context), input, phases },
        run.signal,
      );
      return {
        batches: runEvents(started, {
          choices: request.choices,
          phases: phases.length,
          context,
          stop: run.abort,
          over,
        }),
        ignored: [...clampedFields(request, started), ...unheardFields(request, model.entry, engine)],
      };
    } catch (error) {
      over(NOTHING, context.signal.aborted ? 'cancelled' : 'failed');
      throw error;
    }
  };
}

/** Wishes that the context lowered, by the names that callers know them by. */
function clampedFields({ maxTokens, maxTotalTokens }: GenerationRequest, { maxTokens: room }: EngineStart): string[] {
  const isClamped = (wish: number | undefined): boolean => wish !== undefined && room !== undefined && room < wish;
  // The engine's figure is the smaller of the wish and what is left; a smaller max_tokens lowers it for both.
  const isTotalClamped = isClamped(maxTotalTokens) && (maxTokens === undefined || isClamped(maxTokens));
  return [
    ...(isClamped(maxTokens) ? ['max_tokens(clamped)'] : []),
    ...(isTotalClamped ? ['max_completion_tokens(clamped)'] : []),
  ];
}

/** What was asked of a model that cannot. */
function unheardFields(request: GenerationRequest, entry: ModelEntry, engine: TextEngine): string[] {
  if (canThink(entry, engine.capabilities)) return [];
  return [...(request.thinking ? ['thinking'] : []), ...(request.preserveThinking ? ['preserve_thinking'] : [])];
}

const NOTHING: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

function checkAbilities(request: GenerationRequest, { asked, entry }: ResolvedModel, engine: TextEngine): void {
  if (request.logprobs && !(entry.abilities.logprobs && engine.capabilities.logprobs))
    throw new ServiceError('unsupported', `Model ${asked} does not return log probabilities.`, { param: 'logprobs' });
  if (request.choices > engine.capabilities.choicesMax)
    throw new ServiceError(
      'invalid-request',
      `Range of n should be [1, ${engine.capabilities.choicesMax}] (n: ${request.choices})`,
      { param: 'n' },
    );
  const withImage = request.messages.findIndex((message) => message.content.some((part) => part.type !== 'text'));
  if (withImage >= 0 && !entry.abilities.vision)
    throw new ServiceError(
      'invalid-request',
      `input content must be a string. (messages[${withImage}].content: model ${asked} takes text only)`,
      {
        param: `messages[${withImage}].content`,
      },
    );
}

function toEngineRequest(
  request: GenerationRequest,
  { entry }: ResolvedModel,
  stopTokens: readonly string[],
  { requestId, owner }: RequestContext,
): Omit<EngineRequest, 'input' | 'phases'> {
  return {
    id: requestId,
    owner: { workspace: `${owner.region}/${owner.workspace}`, key: owner.keyId },
    sampling: { ...entry.sampling, ...request.sampling },
    stop: { ...request.stop, special: stopTokens },
    choices: request.choices,
    ...(request.maxTokens === undefined ? {} : { maxTokens: request.maxTokens }),
    ...(request.maxTotalTokens === undefined ? {} : { maxTotalTokens: request.maxTotalTokens }),
    ...(request.logprobs ? { logprobs: request.logprobs } : {}),
  };
}
