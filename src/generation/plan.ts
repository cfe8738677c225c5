import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { JsonSchema } from '../core/grammar.ts';
import { TOOL_NAME_TOKENS_MAX } from '../core/limits.ts';
import type { Phase } from '../core/prompt.ts';
import type { GenerationRequest, OutputFormat, ToolUse } from '../core/request.ts';
import type { EngineRequest, TextEngine } from '../engines/engine.ts';
import { createCheck } from '../grammar/check.ts';
import { isComplexTool } from './complex-tool.ts';
import type { createPromptRenderer } from './prompt.ts';
import type { Stages } from './run.ts';
import { createCallArguments } from './stages/call-arguments.ts';
import { createCheckedText } from './stages/checked-text.ts';
import { createThought } from './stages/thought.ts';
import { canThink, closeUnwanted, planThinking } from './thinking.ts';
import { templateToolFormat } from './tools/formats.ts';
import type { ToolFormatName } from './tools/formats.ts';
import { planTools, shiftPhases, steerToAnswer } from './tools/plan-tools.ts';
import { createToolCalls } from './tools/tool-calls.ts';

/** How a request is put to an engine, and what becomes of the events it answers with. */
export interface Plan {
  readonly asked: Pick<EngineRequest, 'input' | 'phases' | 'markers'>;
  readonly stagesOf: (choice: number) => Stages;
}

interface PlanNeeds {
  readonly entry: ModelEntry;
  readonly engine: TextEngine;
  readonly rendererOf: ReturnType<typeof createPromptRenderer>;
  readonly defaultSystem?: string | undefined;
  /** Of the model's family; otherwise its template tells. */
  readonly toolFormat?: ToolFormatName | undefined;
  readonly newCallId: () => string;
  /** The answer must not begin as a call does. */
  readonly steersToAnswer?: boolean;
}

/** @throws ServiceError `invalid-request` naming a tool whose name is too long for the model. */
export async function planRequest(request: GenerationRequest, needs: PlanNeeds): Promise<Plan> {
  const { engine } = needs;
  const { messages, toolUse, outputFormat } = request;
  if (engine.capabilities.input === 'chat') {
    const forms = { ...(toolUse ? { toolUse } : {}), ...(outputFormat ? { outputFormat } : {}) };
    return {
      asked: { input: { type: 'messages', messages, ...forms }, phases: [] },
      stagesOf: () => argumentStages(toolUse, engine),
    };
  }
  if (toolUse) await checkNames(toolUse, engine);
  return await planPrompt(request, needs);
}

async function planPrompt(request: GenerationRequest, needs: PlanNeeds): Promise<Plan> {
  const { entry, engine } = needs;
  const { toolUse, outputFormat } = request;
  const model = await engine.model();
  const wantsThought = request.thinking !== undefined && canThink(entry, engine.capabilities);
  const isNative = entry.abilities.thinking === 'native';
  const prompt = needs.rendererOf(model)(request.messages, {
    defaultSystem: needs.defaultSystem,
    earlierThoughts: request.preserveThinking ? (isNative ? 'field' : 'text') : undefined,
    opensThought: wantsThought && isNative,
    toolFormat: needs.toolFormat,
    ...(toolUse ? { tools: toolUse.tools } : {}),
  });
  const thought = planThinking(request, entry, engine, { model, prompt });
  const format = templateToolFormat(model.chatTemplate ?? '', needs.toolFormat) ?? 'hermes';
  const answer =
    needs.steersToAnswer && !outputFormat
      ? { opening: [], preface: '', phases: steerToAnswer(), markers: [] }
      : planTools({ toolUse, outputFormat, format, specialTokens: model.specialTokens });

  const phases: readonly Phase[] = thought
    ? [
        { ...thought.phase, thenAppend: [...(thought.phase.thenAppend ?? []), ...answer.opening] },
        ...(answer.phases.length > 0 ? shiftPhases(answer.phases, 1) : [{ kind: 'answer' as const }]),
      ]
    : answer.phases;
  const behind = thought ? thought.opening : [...closeUnwanted(prompt, entry, model), ...answer.opening];
  return {
    asked: {
      input: { type: 'segments', segments: [...prompt, ...behind] },
      phases: engine.capabilities.phases ? phases : [],
      markers: [...answer.markers, ...(thought ? [thought.marks.close] : [])],
    },
    stagesOf: (choice) => [
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
      ...argumentStages(toolUse, engine),
      ...formStages(outputFormat, toolUse, engine),
    ],
  };
}

/** The same for engines that make calls themselves. */
function argumentStages(toolUse: ToolUse | undefined, { capabilities }: TextEngine): Stages {
  if (!toolUse) return [];
  const tools = new Map(toolUse.tools.map((tool) => [tool.name, tool]));
  const checks = new Map<string, Check>();
  return [
    createCallArguments({
      isHeld: (name) => !toolUse.streamsComplex && isComplexTool(tools.get(name)?.parameters),
      problemOf(name, text) {
        const tool = tools.get(name);
        // An engine without grammars promises nothing, and the specification tells callers to look themselves.
        if (!tool || !capabilities.grammar) return undefined;
        const check = checks.get(name) ?? checkOf(tool.parameters ?? NO_PARAMETERS);
        checks.set(name, check);
        return check(text);
      },
    }),
  ];
}

const NO_PARAMETERS: JsonSchema = { type: 'object', additionalProperties: false };

function formStages(
  outputFormat: OutputFormat | undefined,
  toolUse: ToolUse | undefined,
  { capabilities }: TextEngine,
): Stages {
  // Beside tools an answer may be calls, without a word of text.
  if (outputFormat?.type !== 'json-schema' || toolUse || !capabilities.grammar) return [];
  return [createCheckedText(checkOf(outputFormat.schema))];
}

type Check = (text: string) => string | undefined;

/** Made when it is needed first: only where the schema was accepted and an answer is complete. */
function checkOf(schema: JsonSchema): Check {
  let check: ((value: unknown) => string | undefined) | undefined;
  return (text) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return 'it is no JSON text';
    }
    check ??= createCheck(schema);
    return check(value);
  };
}

/** Specification, E1: a name has up to 64 tokens of the model. A token is at least one character, so few need counting. */
async function checkNames({ tools }: ToolUse, engine: TextEngine): Promise<void> {
  for (const { name, field } of tools) {
    if (name.length <= TOOL_NAME_TOKENS_MAX) continue;
    const tokens = await engine.countTokens({ type: 'segments', segments: [{ text: name, special: false }] });
    if (tokens <= TOOL_NAME_TOKENS_MAX) continue;
    const param = field.replace(/parameters$/, 'name');
    throw new ServiceError(
      'invalid-request',
      `${param} must be at most ${TOOL_NAME_TOKENS_MAX} tokens of the model, got ${tokens}.`,
      { param },
    );
  }
}
