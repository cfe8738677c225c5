import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { FillInTheMiddle } from '../core/fill-in-the-middle.ts';
import { TOOL_NAME_TOKENS_MAX } from './limits.ts';
import type { Message, Tool } from '../core/message.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import type { GenerationRequest, ToolUseOptions } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import type { GenerationPlan } from './generation-plan.ts';
import { addOutputChecks, type CheckAnswer } from './output-checks.ts';
import { planCompletion } from './plan-completion.ts';
import type { createPromptRenderer } from './prompt-renderer.ts';
import { createHarmonyStage, HARMONY_CALLS, HARMONY_MARKERS } from './stages/harmony.ts';
import { createRequiredCallStage } from './stages/required-call.ts';
import { createUnparsedCallStage } from './stages/unparsed-call.ts';
import { createThoughtStage } from './stages/thought.ts';
import { createCallRemovalStage } from './stages/call-removal.ts';
import { createProgramBlockStage } from './stages/program-block.ts';
import { createMarkRemovalStage } from './stages/mark-removal.ts';
import type { EarlierThoughtPlacement } from './template-message.ts';
import { canKeepThoughts, canThink, clampBudget, planThinking } from './thinking.ts';
import { getEndText, USUAL_THOUGHTS } from './thoughts/thought-format.ts';
import { listEndTokens } from './tools/end-tokens.ts';
import { TOOL_FORMATS, type ToolFormat, type ToolFormatName } from './tools/tool-formats.ts';
import { planTools, createAnswerOnlyPhases } from './tools/plan-tools.ts';
import { listCallMarks, listCallOpenings } from './tools/separate-parts.ts';
import { createToolCallStage } from './tools/tool-call-stage.ts';

export interface PlanDeps {
  readonly entry: ModelEntry;
  readonly engine: TextEngine;
  readonly getRenderer: ReturnType<typeof createPromptRenderer>;
  readonly defaultSystem?: string | undefined;
  /** Format of the model's family; when absent, the template's source decides. */
  readonly toolFormat?: ToolFormatName | undefined;
  readonly fillInTheMiddle?: FillInTheMiddle | undefined;
  readonly createCallId: () => string;
  readonly checkAnswer: CheckAnswer;
  /** Tools that are no longer offered because they were called already. Calls of them are removed from the answer. */
  readonly withdrawnTools?: readonly Tool[];
}

/**
 * Plans a request for the engine of its model.
 *
 * @throws ServiceError `invalid-request` naming a tool whose name is too long for the model; `unsupported` for a prompt
 *   that the model cannot complete.
 */
export async function planRequest(request: GenerationRequest, deps: PlanDeps): Promise<GenerationPlan> {
  const plan = await planAnswer(request, deps);
  const { programBlocks } = request;
  if (!programBlocks || programBlocks.keepsRest) return plan;
  const options = { ...programBlocks, createId: deps.createCallId };
  return {
    ...plan,
    createStages: (...args) => [...plan.createStages(...args), createProgramBlockStage(options)],
  };
}

async function planAnswer(request: GenerationRequest, deps: PlanDeps): Promise<GenerationPlan> {
  const { engine } = deps;
  const { toolUse, uncallableTools = [], prompt } = request;
  if (prompt) return await planCompletion(prompt, deps);
  if (engine.capabilities.input === 'chat') return planChat(request, deps);
  await checkToolNames(toolUse?.tools ?? uncallableTools, engine);
  return await planPrompt(request, deps);
}

/** Reports a thinking budget that was lowered, by the name in the chat interface. */
const BUDGET_CLAMPED = 'thinking_budget(clamped)';

/** Reports that calls may arrive as text, by the name in the chat interface. */
const UNKNOWN_CALLS = 'tools(unknown_format)';

/** Plans a request for a server that renders prompts and parses reasoning and calls itself. */
function planChat(request: GenerationRequest, { entry, engine, checkAnswer }: PlanDeps): GenerationPlan {
  const { messages, toolUse, outputFormat, thinking, extraFields } = request;
  const { capabilities } = engine;
  const forwarded = (capabilities.forwardableFields ?? []).filter(
    (name) => extraFields && Object.hasOwn(extraFields, name),
  );
  const clamped = thinking && clampBudget(thinking, entry);
  return {
    ignored: clamped === thinking ? [] : [BUDGET_CLAMPED],
    engineRequest: {
      input: {
        type: 'messages',
        messages,
        preserveThinking: request.preserveThinking === true && canKeepThoughts(entry, capabilities),
        ...(toolUse ? { toolUse } : {}),
        ...(outputFormat ? { outputFormat } : {}),
        ...(canThink(entry, capabilities) ? { thinking: clamped ?? false } : {}),
        ...(forwarded.length > 0 ? { forwarded: pick(extraFields ?? {}, forwarded) } : {}),
      },
      phases: [],
    },
    createStages: (choice, holdBatch, { hasWideGrammar = false }) => {
      // The server may not know the marks of its model, and its template may open the thought.
      const keepsThoughts = thinking !== undefined;
      const thoughts = createThoughtStage({ format: USUAL_THOUGHTS, phases: [], keepsThoughts });
      const { hasThought } = thoughts;
      const thoughtEnd = USUAL_THOUGHTS.close;
      return addOutputChecks(
        [
          thoughts,
          ...(keepsThoughts && !outputFormat
            ? [createMarkRemovalStage({ choice, marks: [], thoughtEnd, hasThought, keepsThoughts })]
            : []),
          ...((toolUse?.choice ?? 'auto') === 'auto' ? [] : [createRequiredCallStage()]),
        ],
        { engine, phases: [], request, checkAnswer, hasWideGrammar, holdBatch },
      );
    },
  };
}

/** Copies the named fields into an object without prototype, so that `__proto__` is a name like any other. */
const pick = (fields: Readonly<Record<string, unknown>>, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.assign(Object.create(null), Object.fromEntries(names.map((name) => [name, fields[name]])));

async function planPrompt(request: GenerationRequest, deps: PlanDeps): Promise<GenerationPlan> {
  const { entry, engine } = deps;
  const { toolUse, outputFormat } = request;
  const model = await engine.loadModel();
  const thinking = canThink(entry, engine.capabilities) ? request.thinking : undefined;
  const isNative = entry.abilities.thinking === 'native';
  const renderer = deps.getRenderer(model);
  const render = (earlierThoughts: EarlierThoughtPlacement): readonly PromptSegment[] =>
    renderer.render(request.messages, {
      defaultSystem: deps.defaultSystem,
      earlierThoughts,
      ...(thinking && isNative ? { thinking: clampBudget(thinking, entry) } : {}),
      toolFormat: deps.toolFormat,
      ...(toolUse ? { tools: toolUse.tools } : {}),
    });
  const preserves = request.preserveThinking === true && canThink(entry, engine.capabilities);
  const { prompt, dropsThoughts } = preserves
    ? renderEarlierThoughts(render, request.messages, isNative)
    : { prompt: render(undefined), dropsThoughts: false };
  // The last run of an answer with programs.
  const mustAnswer = request.programBlocks !== undefined && !request.programBlocks.tool && !toolUse;
  const hasCalls = toolUse !== undefined || deps.withdrawnTools !== undefined;
  const { calls: support, found } = hasCalls
    ? renderer.getToolSupport(deps.toolFormat)
    : { calls: undefined, found: undefined };
  const thoughtFormat = renderer.findThoughtFormat(toolUse !== undefined);
  const isHarmony = thoughtFormat.open.includes('<|channel|>analysis');
  if (toolUse && support === 'unknown' && !isHarmony) checkCanConstrain(toolUse, deps);
  const format = isHarmony ? HARMONY_CALLS : (found?.format ?? TOOL_FORMATS.hermes);
  const toolPlan =
    (deps.withdrawnTools ?? mustAnswer) && !outputFormat
      ? { opening: [], preface: '', phases: createAnswerOnlyPhases(), markers: [] }
      : planTools({
          toolUse,
          outputFormat,
          format,
          specialTokens: model.specialTokens,
          promptEnd: getEndText(prompt),
        });

  const thought = planThinking(request, entry, engine, { model, prompt, format: thoughtFormat, answer: toolPlan });
  const sentPhases = selectSupportedPhases(engine, thought.phases);
  const calls = { tools: toolUse?.tools ?? [], isParallel: toolUse?.isParallel ?? true };
  return {
    ignored: [
      ...(toolUse && support === 'unknown' && !isHarmony ? [UNKNOWN_CALLS] : []),
      ...(dropsThoughts ? ['preserve_thinking'] : []),
      ...(thought.isIgnored ? ['thinking'] : []),
      ...(thought.isBudgetClamped ? [BUDGET_CLAMPED] : []),
      ...(outputFormat && !(engine.capabilities.grammar && sentPhases.some(({ grammar }) => grammar))
        ? ['response_format']
        : []),
    ],
    engineRequest: {
      input: { type: 'segments', segments: [...prompt, ...thought.appended] },
      phases: sentPhases,
      markers: [
        ...new Set([
          ...toolPlan.markers,
          ...thought.markers,
          ...(isHarmony ? HARMONY_MARKERS.filter((marker) => model.specialTokens.includes(marker)) : []),
        ]),
      ],
    },
    createStages: (choice, holdBatch, { hasWideGrammar = false }) => {
      const thoughts = createThoughtStage({
        ...thought,
        phases: sentPhases,
        ...(toolUse ? { callOpenings: listCallOpenings(format) } : {}),
      });
      return addOutputChecks(
        [
          ...(isHarmony
            ? [
                createHarmonyStage({
                  ...thought,
                  ...calls,
                  choice,
                  phases: sentPhases,
                  preface: toolPlan.preface,
                  createId: deps.createCallId,
                }),
              ]
            : [
                thoughts,
                ...(toolUse
                  ? [
                      createToolCallStage({
                        ...calls,
                        choice,
                        format,
                        preface: toolPlan.preface,
                        createId: deps.createCallId,
                        compileCalls: renderer.compileCalls,
                      }),
                      createUnparsedCallStage(listCallMarks(format)),
                    ]
                  : []),
              ]),
          ...(deps.withdrawnTools
            ? [
                createToolCallStage({
                  choice,
                  format,
                  tools: deps.withdrawnTools,
                  isParallel: true,
                  preface: '',
                  createId: deps.createCallId,
                  compileCalls: renderer.compileCalls,
                }),
                createCallRemovalStage(),
              ]
            : []),
          // After the calls: marks inside arguments must stay.
          createMarkRemovalStage({
            choice,
            marks: [
              ...thought.removedMarks,
              ...(toolUse ? listSectionMarks(format, model) : []),
              // The signs with which the prompt ends, which the model repeats before a further part of its answer.
              ...(toolPlan.preface === '' ? [] : thought.format.answerOpenings.map((mark) => toolPlan.preface + mark)),
            ],
            endMarks: listEndTokens(model),
            keepsThoughts: thought.keepsThoughts,
            ...(!isHarmony && !outputFormat && thought.removedMarks.includes(thought.format.close)
              ? { thoughtEnd: thought.format.close, hasThought: thoughts.hasThought }
              : {}),
          }),
        ],
        { engine, phases: sentPhases, request, checkAnswer: deps.checkAnswer, hasWideGrammar, holdBatch },
      );
    },
  };
}

/** Lists special tokens around all calls, which stand in an answer also where no call stands between them. */
const listSectionMarks = (
  { begin, end, markers }: ToolFormat,
  { specialTokens }: Pick<LoadedModel, 'specialTokens'>,
): string[] =>
  markers.filter(
    (mark) => specialTokens.includes(mark) && [begin, end].some((text) => text.replace(/[[\]]/, '').trim() === mark),
  );

/**
 * Rejects a required call of a model whose call format is unknown, unless a grammar constrains it.
 * @throws ServiceError `unsupported`.
 */
function checkCanConstrain(
  { choice }: ToolUseOptions,
  { entry, engine: { capabilities } }: Pick<PlanDeps, 'entry' | 'engine'>,
): void {
  if (choice === 'auto' || (capabilities.grammar && capabilities.phases)) return;
  throw new ServiceError(
    'unsupported',
    `Model ${entry.name} cannot be required to call a tool: its chat template writes calls in a format that Parley does not know, and its engine applies no grammar. Send tool_choice "auto", or use another model.`,
    { param: 'tool_choice' },
  );
}

/** An engine that supports grammars but no phases can still apply one grammar to the whole answer. */
function selectSupportedPhases(
  { capabilities }: TextEngine,
  phases: readonly GenerationPhase[],
): readonly GenerationPhase[] {
  if (capabilities.phases && (capabilities.grammar || phases.length > 1)) return phases;
  return capabilities.grammar && phases.length === 1 ? phases : [];
}

/**
 * Renders earlier reasoning in the template's own field if the template shows it, else as text. Some templates drop
 * both.
 */
function renderEarlierThoughts(
  render: (earlierThoughts: EarlierThoughtPlacement) => readonly PromptSegment[],
  messages: readonly Message[],
  isNative: boolean,
): { readonly prompt: readonly PromptSegment[]; readonly dropsThoughts: boolean } {
  const thoughts = messages.flatMap(({ reasoning }) => (reasoning === undefined ? [] : [reasoning.trim()]));
  for (const placement of isNative ? (['field', 'text'] as const) : (['text'] as const)) {
    const prompt = render(placement);
    const text = prompt.map((segment) => segment.text).join('');
    if (thoughts.every((thought) => text.includes(thought))) return { prompt, dropsThoughts: false };
  }
  return { prompt: render(undefined), dropsThoughts: true };
}

/**
 * Rejects tool names of more than 64 tokens (docs/wire/openai-compatible.md#chat-request). A token has at least one
 * character, so only longer names are counted.
 */
async function checkToolNames(tools: readonly Tool[], engine: TextEngine): Promise<void> {
  for (const { name, field } of tools) {
    if (name.length <= TOOL_NAME_TOKENS_MAX) continue;
    const tokens = await engine.countTokens({ type: 'segments', segments: [{ text: name, special: false }] });
    if (tokens <= TOOL_NAME_TOKENS_MAX) continue;
    const param = field.replace(/(?:parameters|input_schema)$/, 'name');
    throw new ServiceError(
      'invalid-request',
      `${param} must have at most ${TOOL_NAME_TOKENS_MAX} tokens of the model, got ${tokens}.`,
      { param },
    );
  }
}
