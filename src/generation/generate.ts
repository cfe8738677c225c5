import type { FillInTheMiddle } from '../catalogue/families/family.ts';
import { withKnown } from '../catalogue/known.ts';
import type { Catalogue, ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import type { Usage } from '../core/event.ts';
import type { Ids } from '../core/id.ts';
import type { Phase } from '../core/prompt.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineOwner, EngineRequest, EngineStart, TextEngine } from '../engines/engine.ts';
import type { Lease } from '../engines/registry.ts';
import { linkedAbort } from '../lib/linked-abort.ts';
import { present } from '../lib/present.ts';
import { checkAbilities, knownOf, lacksLogprobs, unheardFields } from './abilities.ts';
import type { Admission } from './admission.ts';
import type { AnswerCheck } from './answer-check.ts';
import type { CheckAnswer } from './checked-stages.ts';
import { engineOwnerOf } from './engine-owner.ts';
import type { Generate } from './generation.ts';
import type { Ledger, Reservation } from './ledger.ts';
import { modelFacts } from './model-facts.ts';
import { narrowedContext, startedWithin, within } from './narrowed-context.ts';
import { planRequest } from './plan.ts';
import type { Plan } from './plan.ts';
import { createPromptRenderer } from './prompt.ts';
import { answeredCalls, withResultsTold } from './repeated-calls.ts';
import { runEvents } from './run.ts';
import type { Ending, Replacement, SpokenEvent } from './run.ts';
import { createRepeatedCall } from './stages/repeated-call.ts';
import type { ToolFormatName } from './tools/formats.ts';

interface Needs {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  /** The engine that serves a model, held until the run is over; loads it if need be. */
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
  /** What the family of a model adds to prompt and stops. */
  readonly styleOf: (model: ResolvedModel) => {
    readonly defaultSystem?: string | undefined;
    readonly stopTokens: readonly string[];
    readonly toolFormat?: ToolFormatName | undefined;
    readonly fillInTheMiddle?: FillInTheMiddle | undefined;
  };
  readonly admission: Admission;
  readonly ledger: Ledger;
  readonly ids: Pick<Ids, 'toolCall'>;
  readonly answerCheck: Pick<AnswerCheck, 'problemOf'>;
}

/** The one way from a request to its events. Every protocol calls it; none has a pipeline of its own. */
export function createGenerate({
  catalogue,
  engineFor,
  styleOf,
  admission,
  ledger,
  ids,
  answerCheck,
}: Needs): Generate {
  const rendererOf = createPromptRenderer();

  return async (request, { interface: wanted }, context) => {
    const resolved = catalogue.resolve(request.model, { interface: wanted, owner: context.owner });
    context.log.add(modelFacts(resolved));
    const { requestId, owner } = context;
    const owned = { requestId, owner, model: resolved.entry.name, choices: request.choices };
    const permit = await admission.admit({
      ...owned,
      ...present({ priority: context.priority, deployment: resolved.deployed?.record }),
    });
    const { count, priority = context.priority } = permit;
    const engineOwner = engineOwnerOf({ owner, ...present({ priority }) });
    let lease: Lease | undefined;
    let reservation: Reservation | undefined;
    const run = linkedAbort(context.signal);
    const over = (usage: Usage, how: Ending): void => {
      run.unlink();
      permit.release(usage, how);
      lease?.release();
      reservation?.settle(usage, how);
    };
    try {
      lease = await engineFor(resolved);
      const { engine } = lease;
      const loaded = await engine.model();
      const model = { ...resolved, entry: withKnown(resolved.entry, knownOf(loaded, engine.capabilities)) };
      checkAbilities(request, model, engine);
      const style = styleOf(model);
      const asker = { owner: engineOwner, signal: run.signal };
      const problemOf: CheckAnswer = (schema, text) => answerCheck.problemOf(schema, text, asker);
      const needs = { entry: model.entry, engine, rendererOf, newCallId: ids.toolCall, problemOf, ...style };
      const plan = await planRequest(request, needs);
      reservation = await ledger.reserve(owned);
      const narrowed = narrowedContext(model, loaded);
      // A server that renders the prompt itself tells only later how long it was.
      const countsPrompt = (count || narrowed) && engine.capabilities.input === 'prompt';
      let phases: readonly Phase[] = [];
      const start = async ({ asked, ...own }: Plan, limits: TokenLimits = {}): Promise<EngineStart> => {
        const promptTokens = countsPrompt ? await engine.countTokens(asked.input) : undefined;
        const room = promptTokens === undefined ? undefined : narrowed?.roomFor(promptTokens);
        if (asked === plan.asked) await count?.begin({ promptTokens, thinks: thinks(asked) });
        const stopTokens = [...style.stopTokens, ...(own.stopTokens ?? [])];
        const plain = toEngineRequest(request, { model, engine, stopTokens }, { requestId, owner: engineOwner });
        ({ phases } = asked);
        const started = await engine.start(within({ ...plain, ...limits, ...asked }, room), run.signal);
        return startedWithin(started, room);
      };
      const started = await start(plan);
      const answer = async (spent: Usage): Promise<Replacement> => {
        const { toolUse, thinking: _, ...plain } = request;
        const other = await planRequest(
          { ...plain, messages: withResultsTold(request.messages) },
          { ...needs, withoutCallsOf: toolUse?.tools ?? [] },
        );
        return { started: await start(other, lessSpent(request, spent)), stagesOf: other.stagesOf };
      };
      const answered = repeats(request, model.entry, engine);
      return {
        batches: runEvents(started, {
          choices: request.choices,
          stagesOf: (choice, verify, replace) => [
            ...plan.stagesOf(choice, verify),
            ...(answered ? [createRepeatedCall(answered, () => replace(answer))] : []),
          ],
          context,
          stop: run.abort,
          over,
          ...(count ? { produced: (event) => count.produced(event.tokens, kindOf(event, phases)) } : {}),
        }),
        ignored: [
          ...clampedFields(request, started),
          ...unheardFields(request, model.entry, engine),
          ...plan.unheard,
          // Of the deployment, and not of this request: a context that nobody here can measure.
          ...(narrowed && !countsPrompt ? ['max_context_length'] : []),
        ],
      };
    } catch (error) {
      over(NOTHING, context.signal.aborted ? 'cancelled' : 'failed');
      throw error;
    }
  };
}

type TokenLimits = Pick<EngineRequest, 'maxTokens' | 'maxTotalTokens'>;

/** What is left of a request's limits for a run that takes another one's place; at least one token, so that it ends by them. */
function lessSpent({ maxTokens, maxTotalTokens }: GenerationRequest, spent: Usage): TokenLimits {
  const answered = spent.completionTokens - (spent.reasoningTokens ?? 0);
  return {
    ...(maxTokens === undefined ? {} : { maxTokens: Math.max(1, maxTokens - answered) }),
    ...(maxTotalTokens === undefined ? {} : { maxTotalTokens: Math.max(1, maxTotalTokens - spent.completionTokens) }),
  };
}

/** Where a call that has its result already is no answer: a model known for that, free to answer otherwise. */
function repeats(
  { toolUse, messages }: GenerationRequest,
  { repeatsCalls }: ModelEntry,
  { capabilities }: TextEngine,
): ReturnType<typeof answeredCalls> {
  if (!repeatsCalls || toolUse?.choice !== 'auto' || !capabilities.phases) return undefined;
  return answeredCalls(messages);
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

const thinks = ({ input, phases }: Plan['asked']): boolean =>
  phases.some(({ kind }) => kind === 'thought') || (input.type === 'messages' && Boolean(input.thinking));

const kindOf = (event: SpokenEvent, phases: readonly Phase[]): 'answer' | 'thought' =>
  event.type === 'reasoning' || phases[event.phase]?.kind === 'thought' ? 'thought' : 'answer';

const NOTHING: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

function toEngineRequest(
  request: GenerationRequest,
  {
    model: { entry },
    engine,
    stopTokens,
  }: { readonly model: ResolvedModel; readonly engine: TextEngine; readonly stopTokens: readonly string[] },
  { requestId, owner }: { readonly requestId: string; readonly owner: EngineOwner },
): Omit<EngineRequest, keyof Plan['asked']> {
  return {
    id: requestId,
    owner,
    sampling: { ...entry.sampling, ...request.sampling },
    stop: { ...request.stop, special: stopTokens },
    choices: request.choices,
    ...(request.maxTokens === undefined ? {} : { maxTokens: request.maxTokens }),
    ...(request.maxTotalTokens === undefined ? {} : { maxTotalTokens: request.maxTotalTokens }),
    ...(request.logprobs && !lacksLogprobs(request, engine.capabilities) ? { logprobs: request.logprobs } : {}),
  };
}
