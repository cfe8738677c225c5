import type { FillInTheMiddle } from '../catalogue/families/family.ts';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { TOOL_NAME_TOKENS_MAX } from '../core/limits.ts';
import type { Message, Tool } from '../core/message.ts';
import type { Phase, PromptSegment } from '../core/prompt.ts';
import type { GenerationRequest, ToolUse } from '../core/request.ts';
import type { EngineRequest, TextEngine } from '../engines/engine.ts';
import { checkedStages } from './checked-stages.ts';
import type { CheckAnswer } from './checked-stages.ts';
import { planCompletion } from './plan-completion.ts';
import type { createPromptRenderer } from './prompt.ts';
import type { Stages } from './run.ts';
import { createThought } from './stages/thought.ts';
import type { Verify } from './stages/verdict.ts';
import { createWithoutCalls } from './stages/without-calls.ts';
import { createWithoutMarks } from './stages/without-marks.ts';
import type { EarlierThoughts } from './template-message.ts';
import { canKeepThoughts, canThink, closeUnwanted, planThinking } from './thinking.ts';
import { templateToolFormat } from './tools/formats.ts';
import type { ToolFormatName } from './tools/formats.ts';
import { planTools, shiftPhases, steerToAnswer } from './tools/plan-tools.ts';
import { createToolCalls } from './tools/tool-calls.ts';

/** How a request is put to an engine, and what becomes of the events it answers with. */
export interface Plan {
  /** Wishes that this model or engine cannot hear, in canonical words. */
  readonly unheard: readonly string[];
  readonly asked: Pick<EngineRequest, 'input' | 'phases' | 'markers'>;
  /** Texts of special tokens that end this answer, besides those of the model's family. */
  readonly stopTokens?: readonly string[];
  readonly stagesOf: (choice: number, verify: Verify) => Stages;
}

export interface PlanNeeds {
  readonly entry: ModelEntry;
  readonly engine: TextEngine;
  readonly rendererOf: ReturnType<typeof createPromptRenderer>;
  readonly defaultSystem?: string | undefined;
  /** Of the model's family; otherwise its template tells. */
  readonly toolFormat?: ToolFormatName | undefined;
  readonly fillInTheMiddle?: FillInTheMiddle | undefined;
  readonly newCallId: () => string;
  readonly problemOf: CheckAnswer;
  /** These were called already and are not offered again: what still reads like a call of one is no answer. */
  readonly withoutCallsOf?: readonly Tool[];
}

/**
 * @throws ServiceError `invalid-request` naming a tool whose name is too long for the model; `unsupported` for a prompt
 *   that it cannot complete.
 */
export async function planRequest(request: GenerationRequest, needs: PlanNeeds): Promise<Plan> {
  const { engine } = needs;
  const { toolUse, prompt } = request;
  if (prompt) return await planCompletion(prompt, needs);
  if (engine.capabilities.input === 'chat') return planChat(request, needs);
  if (toolUse) await checkNames(toolUse, engine);
  return await planPrompt(request, needs);
}

/** The server renders, thinks and makes calls itself. */
function planChat(request: GenerationRequest, { entry, engine, problemOf }: PlanNeeds): Plan {
  const { messages, toolUse, outputFormat, thinking, further } = request;
  const { capabilities } = engine;
  const forwarded = (capabilities.forwards ?? []).filter((name) => further && Object.hasOwn(further, name));
  return {
    unheard: [],
    asked: {
      input: {
        type: 'messages',
        messages,
        preserveThinking: request.preserveThinking === true && canKeepThoughts(entry, capabilities),
        ...(toolUse ? { toolUse } : {}),
        ...(outputFormat ? { outputFormat } : {}),
        ...(canThink(entry, capabilities) ? { thinking: thinking ?? false } : {}),
        ...(forwarded.length > 0 ? { forwarded: pick(further ?? {}, forwarded) } : {}),
      },
      phases: [],
    },
    stagesOf: (_, verify) => checkedStages([], { engine, phases: [], toolUse, outputFormat, problemOf, verify }),
  };
}

/** Without prototype: `__proto__` is a name like any other. */
const pick = (fields: Readonly<Record<string, unknown>>, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.assign(Object.create(null), Object.fromEntries(names.map((name) => [name, fields[name]])));

async function planPrompt(request: GenerationRequest, needs: PlanNeeds): Promise<Plan> {
  const { entry, engine } = needs;
  const { toolUse, outputFormat } = request;
  const model = await engine.model();
  const wantsThought = request.thinking !== undefined && canThink(entry, engine.capabilities);
  const isNative = entry.abilities.thinking === 'native';
  const render = (earlierThoughts: EarlierThoughts): readonly PromptSegment[] =>
    needs.rendererOf(model)(request.messages, {
      defaultSystem: needs.defaultSystem,
      earlierThoughts,
      opensThought: wantsThought && isNative,
      toolFormat: needs.toolFormat,
      ...(toolUse ? { tools: toolUse.tools } : {}),
    });
  const preserves = request.preserveThinking === true && canThink(entry, engine.capabilities);
  const { prompt, dropsThoughts } = preserves
    ? renderThoughts(render, request.messages, isNative)
    : { prompt: render(undefined), dropsThoughts: false };
  const thought = planThinking(request, entry, engine, { model, prompt });
  const hasCalls = toolUse !== undefined || needs.withoutCallsOf !== undefined;
  const format = (hasCalls && templateToolFormat(model.chatTemplate ?? '', needs.toolFormat)) || 'hermes';
  const answer =
    needs.withoutCallsOf && !outputFormat
      ? { opening: [], preface: '', phases: steerToAnswer(), markers: [] }
      : planTools({ toolUse, outputFormat, format, specialTokens: model.specialTokens });

  const phases: readonly Phase[] = thought
    ? [
        { ...thought.phase, thenAppend: [...(thought.phase.thenAppend ?? []), ...answer.opening] },
        ...(answer.phases.length > 0 ? shiftPhases(answer.phases, 1) : [{ kind: 'answer' as const }]),
      ]
    : answer.phases;
  const sent = phasesFor(engine, phases);
  const behind = thought ? thought.opening : [...closeUnwanted(prompt, entry, model), ...answer.opening];
  return {
    unheard: [
      ...(dropsThoughts ? ['preserve_thinking'] : []),
      ...(outputFormat && !(engine.capabilities.grammar && sent.some(({ grammar }) => grammar))
        ? ['response_format']
        : []),
    ],
    asked: {
      input: { type: 'segments', segments: [...prompt, ...behind] },
      phases: sent,
      markers: [...answer.markers, ...(thought ? [thought.marks.close] : [])],
    },
    stagesOf: (choice, verify) =>
      checkedStages(
        [
          ...(thought ? [createThought(phases)] : []),
          ...(toolUse
            ? [
                createToolCalls({
                  choice,
                  format,
                  names: toolUse.tools.map(({ name }) => name),
                  isParallel: toolUse.isParallel,
                  preface: answer.preface,
                  newId: needs.newCallId,
                }),
              ]
            : []),
          ...(needs.withoutCallsOf
            ? [
                createToolCalls({
                  choice,
                  format,
                  names: needs.withoutCallsOf.map(({ name }) => name),
                  isParallel: true,
                  preface: '',
                  newId: needs.newCallId,
                }),
                createWithoutCalls(),
              ]
            : []),
          // Behind the calls: what their arguments say is not ours to change.
          ...(thought ? [createWithoutMarks([thought.marks.open, thought.marks.close])] : []),
        ],
        { engine, phases: sent, toolUse, outputFormat, problemOf: needs.problemOf, verify },
      ),
  };
}

/** An engine that follows grammars but no phases can still be held to one form from beginning to end. */
function phasesFor({ capabilities }: TextEngine, phases: readonly Phase[]): readonly Phase[] {
  if (capabilities.phases && (capabilities.grammar || phases.length > 1)) return phases;
  return capabilities.grammar && phases.length === 1 ? phases : [];
}

/**
 * Earlier thoughts in the template's own field where it tells them, else in the text. Some templates drop both.
 */
function renderThoughts(
  render: (earlierThoughts: EarlierThoughts) => readonly PromptSegment[],
  messages: readonly Message[],
  isNative: boolean,
): { readonly prompt: readonly PromptSegment[]; readonly dropsThoughts: boolean } {
  const thoughts = messages.flatMap(({ reasoning }) => (reasoning === undefined ? [] : [reasoning.trim()]));
  for (const way of isNative ? (['field', 'text'] as const) : (['text'] as const)) {
    const prompt = render(way);
    const text = prompt.map((segment) => segment.text).join('');
    if (thoughts.every((thought) => text.includes(thought))) return { prompt, dropsThoughts: false };
  }
  return { prompt: render(undefined), dropsThoughts: true };
}

/** Specification, E1: a name has up to 64 tokens of the model. A token is at least one character, so few need counting. */
async function checkNames({ tools }: ToolUse, engine: TextEngine): Promise<void> {
  for (const { name, field } of tools) {
    if (name.length <= TOOL_NAME_TOKENS_MAX) continue;
    const tokens = await engine.countTokens({ type: 'segments', segments: [{ text: name, special: false }] });
    if (tokens <= TOOL_NAME_TOKENS_MAX) continue;
    const param = field.replace(/(?:parameters|input_schema)$/, 'name');
    throw new ServiceError(
      'invalid-request',
      `${param} must be at most ${TOOL_NAME_TOKENS_MAX} tokens of the model, got ${tokens}.`,
      { param },
    );
  }
}
