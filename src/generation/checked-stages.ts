import type { JsonSchema } from '../core/grammar.ts';
import type { Phase } from '../core/prompt.ts';
import type { OutputFormat, ToolUse } from '../core/request.ts';
import type { TextEngine } from '../engines/engine.ts';
import { needsCheck } from '../grammar/needs-check.ts';
import { isComplexTool } from './complex-tool.ts';
import type { Stages } from './run.ts';
import { createCallArguments } from './stages/call-arguments.ts';
import { createCheckedText } from './stages/checked-text.ts';
import { createPhaseWatch } from './stages/phase-watch.ts';
import type { Verdict, Verify } from './stages/verdict.ts';

/** What is wrong with a whole answer, which is JSON; undefined when nothing is. */
export type CheckAnswer = (schema: JsonSchema, text: string) => Promise<string | undefined>;

export interface CheckedStagesNeeds {
  readonly engine: Pick<TextEngine, 'capabilities'>;
  /** As the engine was sent them. */
  readonly phases: readonly Phase[];
  readonly toolUse: ToolUse | undefined;
  readonly outputFormat: OutputFormat | undefined;
  readonly problemOf: CheckAnswer;
  readonly verify: Verify;
}

/** The stages with what looks at calls and at an answer's form behind them. Most answers are known to fit, by their grammar. */
export function checkedStages(stages: Stages, needs: CheckedStagesNeeds): Stages {
  const { engine, toolUse, outputFormat, phases, problemOf, verify } = needs;
  const isForm = outputFormat?.type === 'json-schema' && engine.capabilities.grammar;
  if (!toolUse && !isForm) return stages;
  const watch = createPhaseWatch();
  const phaseNow = (): Phase | undefined => phases[watch.phase()];
  const verdictOn = (schema: JsonSchema, text: string, isFree: boolean): Verdict => {
    if (!isJson(text)) return 'it is no JSON text';
    return isFree || needsCheck(schema) ? problemOf(schema, text) : undefined;
  };
  return [
    watch.stage,
    ...stages,
    ...(toolUse
      ? [
          createCallArguments({
            ...argumentRules(toolUse, engine, verdictOn),
            isFree: () => phaseNow()?.kind !== 'call' || phaseNow()?.grammar === undefined,
            verify,
          }),
        ]
      : []),
    ...(isForm
      ? [
          createCheckedText({
            isFree: () => phaseNow()?.grammar === undefined,
            problemOf: (text, isFree) => verdictOn(outputFormat.schema, text, isFree),
            verify,
          }),
        ]
      : []),
  ];
}

function argumentRules(
  { tools, streamsComplex }: ToolUse,
  { capabilities }: CheckedStagesNeeds['engine'],
  verdictOn: (schema: JsonSchema, text: string, isFree: boolean) => Verdict,
) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    isLoose: !capabilities.grammar,
    isHeld: (name: string): boolean => !streamsComplex && isComplexTool(byName.get(name)?.parameters),
    problemOf(name: string, text: string, isFree: boolean): Verdict {
      const tool = byName.get(name);
      // An engine without grammars promises nothing, and the specification tells callers to look themselves.
      if (!tool || !capabilities.grammar) return undefined;
      return verdictOn(tool.parameters ?? NO_PARAMETERS, text, isFree);
    },
  };
}

const NO_PARAMETERS: JsonSchema = { type: 'object', additionalProperties: false };

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
