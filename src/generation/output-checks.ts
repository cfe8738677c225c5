import type { JsonSchema } from '../core/grammar.ts';
import type { GenerationPhase } from '../core/prompt.ts';
import type { GenerationRequest, ToolUseOptions } from '../core/request.ts';
import type { TextEngine } from '../engines/engine.ts';
import { needsCheck } from '../grammar/needs-check.ts';
import { isComplexTool } from './complex-tool.ts';
import type { Stages } from './run-events.ts';
import { createCallArgumentsStage } from './stages/call-arguments.ts';
import { createFormatCheckStage } from './stages/format-check.ts';
import { createPhaseTracker } from './stages/phase-tracker.ts';
import type { CheckResult, HoldBatch } from './stages/check-result.ts';
import { isJson } from '../lib/is-json.ts';

/** Describes what is wrong with a complete JSON answer; undefined when it matches the schema. */
export type CheckAnswer = (schema: JsonSchema, text: string) => Promise<string | undefined>;

export interface OutputCheckOptions {
  readonly engine: Pick<TextEngine, 'capabilities'>;
  /** The phases that the engine received. */
  readonly phases: readonly GenerationPhase[];
  readonly request: Pick<GenerationRequest, 'toolUse' | 'outputFormat' | 'programBlocks'>;
  readonly checkAnswer: CheckAnswer;
  /** Whether the engine reported that a grammar allows more than its schema. */
  readonly hasWideGrammar: boolean;
  readonly holdBatch: HoldBatch;
}

/**
 * Appends stages that check calls and the answer's format. Most answers need no check: their grammar guarantees them.
 */
export function addOutputChecks(stages: Stages, options: OutputCheckOptions): Stages {
  const { engine, phases, checkAnswer, hasWideGrammar, holdBatch } = options;
  const { toolUse, outputFormat, programBlocks } = options.request;
  const checksFormat = outputFormat?.type === 'json-schema' && engine.capabilities.grammar;
  if (!toolUse && !checksFormat) return stages;
  const phaseTracker = createPhaseTracker();
  const getCurrentPhase = (): GenerationPhase | undefined => phases[phaseTracker.getPhase()];
  const checkJson = (schema: JsonSchema, text: string, isUnconstrained: boolean): CheckResult => {
    if (!isJson(text)) return 'it is not valid JSON';
    return isUnconstrained || hasWideGrammar || needsCheck(schema) ? checkAnswer(schema, text) : undefined;
  };
  return [
    phaseTracker.stage,
    ...stages,
    ...(toolUse
      ? [
          createCallArgumentsStage({
            ...createArgumentChecks(toolUse, engine, checkJson),
            isUnchecked: (name) => name === programBlocks?.tool,
            isUnconstrained: () => getCurrentPhase()?.kind !== 'call' || getCurrentPhase()?.grammar === undefined,
            holdBatch,
          }),
        ]
      : []),
    ...(checksFormat
      ? [
          createFormatCheckStage({
            isUnconstrained: () => getCurrentPhase()?.grammar === undefined,
            checkText: (text, isUnconstrained) => checkJson(outputFormat.schema, text, isUnconstrained),
            holdBatch,
          }),
        ]
      : []),
  ];
}

function createArgumentChecks(
  { tools, streamsComplexArguments }: ToolUseOptions,
  { capabilities }: OutputCheckOptions['engine'],
  checkJson: (schema: JsonSchema, text: string, isUnconstrained: boolean) => CheckResult,
) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    lacksGrammar: !capabilities.grammar,
    isBuffered: (name: string): boolean => !streamsComplexArguments && isComplexTool(byName.get(name)?.parameters),
    checkArguments(name: string, text: string, isUnconstrained: boolean): CheckResult {
      const tool = byName.get(name);
      // An engine without grammars guarantees nothing, and the API tells callers to check the arguments themselves.
      if (!tool || !capabilities.grammar) return undefined;
      return checkJson(tool.parameters ?? NO_PARAMETERS, text, isUnconstrained);
    },
  };
}

const NO_PARAMETERS: JsonSchema = { type: 'object', additionalProperties: false };
