import { applyEngineModelInfo } from '../catalogue/engine-model-info.ts';
import type { Catalogue, ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import type { Usage } from '../core/event.ts';
import type { FillInTheMiddle } from '../core/fill-in-the-middle.ts';
import type { IdGenerator } from '../core/id.ts';
import type { GenerationPhase } from '../core/prompt.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { EngineOwner, EngineRequest, EngineRun, TextEngine } from '../engines/engine.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import { createLinkedAbort } from '../lib/linked-abort.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { checkAbilities, detectModelInfo, lacksLogprobs, findIgnoredFields } from './check-abilities.ts';
import { checkPromptLength, countRequestChars } from './check-prompt-length.ts';
import type { Admission } from './admission.ts';
import type { AnswerChecker } from './answer-checker.ts';
import type { CheckAnswer } from './output-checks.ts';
import { toEngineOwner } from './engine-owner.ts';
import type { OpenRequestImages } from './fetch-images.ts';
import type { Generate } from './generation.ts';
import type { Ledger, UsageReservation } from './ledger.ts';
import { getModelLogFields } from './model-log-fields.ts';
import { resolveTarget } from './model-target.ts';
import { findDeploymentContextLimit, limitStart, limitRequest } from './deployment-context-limit.ts';
import { planRequest } from './plan.ts';
import type { GenerationPlan } from './generation-plan.ts';
import { createPromptRenderer } from './prompt-renderer.ts';
import { findAnsweredCalls, inlineToolResults } from './repeated-calls.ts';
import { runEvents, type EmittedTokens, type RunOutcome, type ReplacementRun, type OutputEvent } from './run-events.ts';
import { createRepeatedCallStage } from './stages/repeated-call.ts';
import type { ToolFormatName } from './tools/tool-formats.ts';

interface GenerateDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  /** Returns the engine of a model, loading it if necessary; the lease is held until the run ends. */
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
  /** Returns the settings of the model's family: the default system message, stop tokens and formats. */
  readonly getModelStyle: (model: ResolvedModel) => {
    readonly defaultSystem?: string | undefined;
    readonly stopTokens: readonly string[];
    readonly toolFormat?: ToolFormatName | undefined;
    readonly fillInTheMiddle?: FillInTheMiddle | undefined;
  };
  readonly admission: Admission;
  readonly ledger: Ledger;
  readonly ids: Pick<IdGenerator, 'createToolCallId'>;
  readonly answerChecker: Pick<AnswerChecker, 'findProblem'>;
  readonly openImages: OpenRequestImages;
}

/** Creates the pipeline that turns a request into generation events; every protocol uses it. */
export function createGenerate({
  catalogue,
  acquireEngine,
  getModelStyle,
  admission,
  ledger,
  ids,
  answerChecker,
  openImages,
}: GenerateDeps): Generate {
  const getRenderer = createPromptRenderer();

  return async (received, on, context) => {
    const resolved = await resolveTarget(catalogue, received.model, on, context.owner);
    context.log.add(getModelLogFields(resolved));
    const { requestId, owner } = context;
    const runInfo = { requestId, owner, model: resolved.entry.name, choices: received.choices };
    const permit = await admission.admit({
      ...runInfo,
      ...omitNullish({ priority: context.priority, deployment: resolved.deployment?.record }),
    });
    const { usageMeter, priority = context.priority } = permit;
    const engineOwner = toEngineOwner({ owner, ...omitNullish({ priority }) });
    let lease: EngineLease | undefined;
    let reservation: UsageReservation | undefined;
    const images = context.images ?? openImages(owner.workspace);
    const run = createLinkedAbort(context.signal);
    const finish = (usage: Usage, outcome: RunOutcome): void => {
      run.unlink();
      permit.release(usage, outcome);
      lease?.release();
      reservation?.settle(usage, outcome);
      if (!context.images) images.release();
    };
    try {
      lease = await acquireEngine(resolved);
      const { engine } = lease;
      const loaded = await engine.loadModel();
      const model = {
        ...resolved,
        entry: applyEngineModelInfo(resolved.entry, detectModelInfo(loaded, engine.capabilities, getRenderer)),
      };
      checkAbilities(received, model, engine);
      checkPromptLength(countRequestChars(received), loaded.contextTokens);
      const request = { ...received, messages: await images.inline(received.messages, run.signal) };
      const style = getModelStyle(model);
      const caller = { owner: engineOwner, signal: run.signal };
      const checkAnswer: CheckAnswer = (schema, text) => answerChecker.findProblem(schema, text, caller);
      const planDeps = {
        entry: model.entry,
        engine,
        getRenderer,
        createCallId: ids.createToolCallId,
        checkAnswer,
        ...style,
      };
      const plan = await planRequest(request, planDeps);
      reservation = await ledger.reserve(runInfo);
      const contextLimit = findDeploymentContextLimit(model, loaded);
      // A server that renders the prompt itself reports its length only with the answer.
      const countsPrompt = (usageMeter || contextLimit) && engine.capabilities.input === 'prompt';
      /** Thought, answer and tool call sections of the run's output. */
      let phases: readonly GenerationPhase[] = [];
      const start = async (
        { engineRequest, ...rest }: GenerationPlan,
        limits: TokenLimits = {},
      ): Promise<EngineRun> => {
        const promptTokens = countsPrompt ? await engine.countTokens(engineRequest.input, engineOwner) : undefined;
        const tokensLeft = promptTokens === undefined ? undefined : contextLimit?.getTokensLeft(promptTokens);
        // The replacement run belongs to the same request, which is counted once.
        if (engineRequest === plan.engineRequest)
          await usageMeter?.start({ promptTokens, thinks: willThink(engineRequest) });
        const stopTokens = [...style.stopTokens, ...(rest.stopTokens ?? [])];
        const baseRequest = toEngineRequest(request, { model, engine, stopTokens }, { requestId, owner: engineOwner });
        ({ phases } = engineRequest);
        const started = await engine.start(
          limitRequest({ ...baseRequest, ...limits, ...engineRequest }, tokensLeft),
          run.signal,
        );
        return limitStart(started, tokensLeft);
      };
      const started = await start(plan);
      /** Starts a run without tools, for a model that repeated a tool call whose result it already has. */
      const startReplacement = async (emitted: EmittedTokens): Promise<ReplacementRun> => {
        const { toolUse, thinking: _, ...plain } = request;
        const replacementPlan = await planRequest(
          { ...plain, messages: inlineToolResults(request.messages) },
          { ...planDeps, withdrawnTools: toolUse?.tools ?? [] },
        );
        const replacement = await start(replacementPlan, reduceTokenLimits(request, emitted));
        return {
          started: replacement,
          createStages: (choice, holdBatch) => replacementPlan.createStages(choice, holdBatch, replacement),
        };
      };
      const knownCalls = findRepeatableCalls(request, model.entry, engine);
      return {
        batches: runEvents(started, {
          choices: request.choices,
          createStages: (choice, holdBatch, replace) => [
            ...plan.createStages(choice, holdBatch, started),
            ...(knownCalls ? [createRepeatedCallStage(knownCalls, () => replace(startReplacement))] : []),
          ],
          context,
          stopEngine: run.abort,
          onFinish: finish,
          ...(usageMeter
            ? { onOutput: (event) => usageMeter.recordOutput(event.tokens, getOutputKind(event, phases)) }
            : {}),
        }),
        ignored: [
          ...findClampedFields(request, started),
          ...findIgnoredFields(request, model.entry, engine),
          ...plan.ignored,
          // The deployment's context limit cannot be applied when only the server counts the prompt.
          ...(contextLimit && !countsPrompt ? ['max_context_length'] : []),
        ],
      };
    } catch (error) {
      finish(NO_USAGE, context.signal.aborted ? 'cancelled' : 'failed');
      throw error;
    }
  };
}

type TokenLimits = Pick<EngineRequest, 'maxTokens' | 'maxTotalTokens'>;

/**
 * Returns the token limits that remain for a replacement run; at least one token, so that the run ends by its limit. The
 * dropped call is no part of the answer, so it takes nothing from the limits of the answer.
 */
function reduceTokenLimits({ maxTokens, maxTotalTokens }: GenerationRequest, emitted: EmittedTokens): TokenLimits {
  const total = emitted.answer + emitted.thought;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens: Math.max(1, maxTokens - emitted.answer) }),
    ...(maxTotalTokens === undefined ? {} : { maxTotalTokens: Math.max(1, maxTotalTokens - total) }),
  };
}

/**
 * Returns the tool calls that already have a result and must not be repeated. Only for models known to repeat them, and
 * only with `tool_choice: auto`; otherwise undefined.
 */
function findRepeatableCalls(
  { toolUse, messages }: GenerationRequest,
  { repeatsCalls }: ModelEntry,
  { capabilities }: TextEngine,
): ReturnType<typeof findAnsweredCalls> {
  if (!repeatsCalls || toolUse?.choice !== 'auto' || !capabilities.phases) return undefined;
  return findAnsweredCalls(messages);
}

/** Returns the token limits that the context size lowered, by the names that callers know. */
function findClampedFields(
  { maxTokens, maxTotalTokens }: GenerationRequest,
  { maxTokens: tokensLeft }: EngineRun,
): string[] {
  const isClamped = (requested: number | undefined): boolean =>
    requested !== undefined && tokensLeft !== undefined && tokensLeft < requested;
  // The engine reports the smallest of max_tokens, max_completion_tokens and the remaining context. If max_tokens was
  // not lowered, a value below max_completion_tokens may be max_tokens itself.
  const isTotalClamped = isClamped(maxTotalTokens) && (maxTokens === undefined || isClamped(maxTokens));
  return [
    ...(isClamped(maxTokens) ? ['max_tokens(clamped)'] : []),
    ...(isTotalClamped ? ['max_completion_tokens(clamped)'] : []),
  ];
}

const willThink = ({ input, phases }: GenerationPlan['engineRequest']): boolean =>
  phases.some(({ kind }) => kind === 'thought') || (input.type === 'messages' && Boolean(input.thinking));

const getOutputKind = (event: OutputEvent, phases: readonly GenerationPhase[]): 'answer' | 'thought' =>
  event.type === 'reasoning' || phases[event.phase]?.kind === 'thought' ? 'thought' : 'answer';

const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

function toEngineRequest(
  request: GenerationRequest,
  {
    model: { entry },
    engine,
    stopTokens,
  }: { readonly model: ResolvedModel; readonly engine: TextEngine; readonly stopTokens: readonly string[] },
  { requestId, owner }: { readonly requestId: string; readonly owner: EngineOwner },
): Omit<EngineRequest, keyof GenerationPlan['engineRequest']> {
  return {
    id: requestId,
    owner,
    sampling: { ...entry.sampling, ...request.sampling },
    stop: { ...request.stop, special: stopTokens },
    choices: request.choices,
    ...(request.maxTokens === undefined ? {} : { maxTokens: request.maxTokens }),
    ...(request.maxTotalTokens === undefined ? {} : { maxTotalTokens: request.maxTotalTokens }),
    ...(request.logprobs && !lacksLogprobs(request, engine.capabilities) ? { logprobs: request.logprobs } : {}),
    ...(request.promptLogprobs ? { promptLogprobs: request.promptLogprobs } : {}),
  };
}
