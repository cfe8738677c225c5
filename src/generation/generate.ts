import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent, GenerationEvent, Usage } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineInput, EngineRequest, EngineStart, TextEngine } from '../engines/engine.ts';
import type { Admission, Permit } from './admission.ts';
import type { Generate } from './generation.ts';
import type { Ledger, Reservation } from './ledger.ts';
import { createPromptRenderer } from './prompt.ts';
import { brokenStream, createBlocks } from './stages/blocks.ts';

interface Needs {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  /** The engine that serves a model; loads it if need be. */
  readonly engineFor: (model: ResolvedModel) => Promise<TextEngine>;
  /** What the family of a model adds to prompt and stops. */
  readonly styleOf: (model: ResolvedModel) => {
    readonly defaultSystem?: string;
    readonly stopTokens: readonly string[];
  };
  readonly admission: Admission;
  readonly ledger: Ledger;
}

/** The one way from a request to its events. Every protocol calls it; none has a pipeline of its own. */
export function createGenerate({ catalogue, engineFor, styleOf, admission, ledger }: Needs): Generate {
  const rendererOf = createPromptRenderer();

  return async (request, { interface: wanted }, context) => {
    const model = catalogue.resolve(request.model, { interface: wanted, region: context.owner.region });
    context.log.add({ model: model.entry.name });
    const permit = await admission.admit({ owner: context.owner, model: model.entry.name, choices: request.choices });
    // Aborts a run that nobody will read.
    const unused = new AbortController();
    try {
      const engine = await engineFor(model);
      checkAbilities(request, model, engine);
      const style = styleOf(model);
      const input: EngineInput =
        engine.capabilities.input === 'chat'
          ? { type: 'messages', messages: request.messages }
          : { type: 'segments', segments: rendererOf(await engine.model())(request.messages, style) };
      const started = await engine.start(
        toEngineRequest(request, model, input, style.stopTokens, context),
        AbortSignal.any([context.signal, unused.signal]),
      );
      const promptTokens = started.promptTokens ?? 0;
      const reservation = await ledger.reserve({
        requestId: context.requestId,
        owner: context.owner,
        model: model.entry.name,
        promptTokens,
      });
      const isClamped = request.maxTokens !== undefined && (started.maxTokens ?? Infinity) < request.maxTokens;
      return {
        batches: readOnce(started, request.choices, { permit, reservation, context }),
        ignored: isClamped ? ['max_tokens(clamped)'] : [],
      };
    } catch (error) {
      unused.abort();
      permit.release();
      throw error;
    }
  };
}

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
  input: EngineInput,
  stopTokens: readonly string[],
  { requestId, owner }: RequestContext,
): EngineRequest {
  return {
    id: requestId,
    owner: { workspace: `${owner.region}/${owner.workspace}`, key: owner.keyId },
    input,
    sampling: { ...entry.sampling, ...request.sampling },
    stop: { ...request.stop, special: stopTokens },
    choices: request.choices,
    ...(request.maxTokens === undefined ? {} : { maxTokens: request.maxTokens }),
    ...(request.maxTotalTokens === undefined ? {} : { maxTotalTokens: request.maxTotalTokens }),
    ...(request.logprobs ? { logprobs: request.logprobs } : {}),
    phases: [],
  };
}

interface RunNeeds {
  readonly permit: Permit;
  readonly reservation: Reservation;
  readonly context: RequestContext;
}

/** The run's events. What it holds is given back whatever happens, also when the caller leaves before reading begins. */
function readOnce(
  started: EngineStart,
  choices: number,
  { permit, reservation, context }: RunNeeds,
): AsyncIterable<readonly GenerationEvent[]> {
  let isRead = false;
  let isOver = false;
  const over = (usage: Usage, how: Ending): void => {
    if (isOver) return;
    isOver = true;
    permit.release();
    reservation.settle(usage, how);
  };
  const abandon = (): void => {
    if (!isRead) over(usageOf(started, 0), 'cancelled');
  };
  if (context.signal.aborted) abandon();
  else context.signal.addEventListener('abort', abandon, { once: true });
  return {
    [Symbol.asyncIterator]() {
      const events = run(started, choices, { over, context });
      return {
        next() {
          isRead = true;
          return events.next();
        },
        return: () => events.return(),
      };
    },
  };
}

type Ending = Parameters<Reservation['settle']>[1];

const usageOf = (started: EngineStart, completionTokens: number): Usage => ({
  promptTokens: started.promptTokens ?? 0,
  cachedTokens: started.cachedTokens ?? 0,
  completionTokens,
});

/** Engine events through the stages of their choice. */
async function* run(
  started: EngineStart,
  choices: number,
  { over, context }: { over: (usage: Usage, how: Ending) => void; context: RequestContext },
): AsyncGenerator<readonly GenerationEvent[], void> {
  const stages = Array.from({ length: choices }, (_, choice) => createBlocks(choice));
  const startedAt = performance.now();
  let spoken = 0;
  let usage: Usage | undefined;
  let out: GenerationEvent[] = [
    { type: 'start', inputTokens: started.promptTokens ?? 0, cachedTokens: started.cachedTokens ?? 0 },
  ];
  const emit = (event: GenerationEvent): void => void out.push(event);
  const take = (event: EngineEvent): void => {
    if (usage) throw brokenStream('an event after the end');
    if (event.type === 'end') {
      for (const stage of stages) stage.end(emit);
      usage = event.usage;
      emit({ type: 'end', usage: event.usage });
      return;
    }
    if (event.type === 'text' || event.type === 'reasoning') spoken += event.tokens;
    const stage = stages[event.choice];
    if (!stage) throw brokenStream('an event of a choice that nobody asked for');
    stage.push(event, emit);
  };
  let broken: Ending | undefined;
  try {
    for await (const batch of started.batches) {
      for (const event of batch) take(event);
      if (out.length === 0) continue;
      const ready = out;
      out = [];
      yield ready;
    }
    if (!usage) throw brokenStream('a stream without end');
  } catch (error) {
    broken = context.signal.aborted ? 'cancelled' : 'failed';
    throw error;
  } finally {
    // A run that was broken off has no count of its own: what was said is what is known.
    const consumed = usage ?? usageOf(started, spoken);
    const ended = broken ?? (usage ? 'finished' : 'cancelled');
    over(consumed, ended);
    context.log.add({
      promptTokens: consumed.promptTokens,
      cachedTokens: consumed.cachedTokens,
      completionTokens: consumed.completionTokens,
      generateMs: Math.round(performance.now() - startedAt),
      ended,
    });
  }
}
