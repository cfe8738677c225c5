import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { findFillInTheMiddle, type FillInTheMiddle } from '../core/fill-in-the-middle.ts';
import type { PromptSegment } from '../core/prompt.ts';
import type { TextPrompt } from '../core/request.ts';
import type { EngineInput, TextEngine } from '../engines/engine.ts';
import type { GenerationPlan } from './generation-plan.ts';
import { createClosingDetector, createBlockEndDetector } from './stages/block-end.ts';
import { createFillingEndStage } from './stages/filling-end.ts';
import { createBeginningPattern, FENCE_PATTERN, matchLinePattern, type EndDetector } from './stages/line-pattern.ts';

interface CompletionDeps {
  readonly entry: ModelEntry;
  readonly engine: TextEngine;
  /** Tokens of the model's family; when absent, the model's vocabulary decides. */
  readonly fillInTheMiddle?: FillInTheMiddle | undefined;
}

/**
 * Plans a prompt that the model continues as it is, without a chat template.
 *
 * @throws ServiceError `unsupported` when the engine accepts only conversations, or when there is a suffix and the
 *   model cannot fill in the middle.
 */
export async function planCompletion(
  prompt: TextPrompt,
  { entry, engine, ...style }: CompletionDeps,
): Promise<GenerationPlan> {
  if (engine.capabilities.input === 'chat')
    throw new ServiceError(
      'unsupported',
      `Model ${entry.name} runs on a server that accepts conversations only, not prompts. Use chat completions.`,
      {
        param: 'model',
      },
    );
  const model = await engine.loadModel();
  const canFill = entry.abilities.fillInTheMiddle !== false;
  const fill = canFill ? findFillInTheMiddle(style.fillInTheMiddle, model) : undefined;
  if (prompt.type === 'fill' && prompt.suffix !== '' && !fill)
    throw new ServiceError(
      'unsupported',
      `Model ${entry.name} cannot fill in the middle. Send the request without a suffix.`,
      {
        param: 'suffix',
      },
    );
  return {
    ignored: [],
    engineRequest: { input: createInput(prompt, fill), phases: [] },
    stopTokens: fill?.stopTokens ?? [],
    createStages: () => (prompt.type === 'fill' ? [createFillingEndStage(createEndDetectors(prompt))] : []),
  };
}

function createInput(prompt: TextPrompt, fill: FillInTheMiddle | undefined): EngineInput {
  switch (prompt.type) {
    case 'tokens':
      return prompt;
    case 'text':
      return { type: 'segments', segments: [{ text: prompt.text, special: false }] };
    case 'fill': {
      const { prefix, suffix } = prompt;
      // Without a suffix a gap is an ordinary continuation, which needs no special tokens.
      if (!fill) return { type: 'segments', segments: [{ text: prefix, special: false }] };
      const prefixSegments = [createSpecialSegment(fill.prefix), { text: prefix, special: false }];
      const suffixSegments = [createSpecialSegment(fill.suffix), { text: suffix, special: false }];
      const parts =
        fill.first === 'suffix' ? [...suffixSegments, ...prefixSegments] : [...prefixSegments, ...suffixSegments];
      const segments = [...parts, ...(fill.middle === undefined ? [] : [createSpecialSegment(fill.middle)])];
      return { type: 'segments', segments: segments.filter(({ text }) => text !== '') };
    }
  }
}

const createSpecialSegment = (text: string): PromptSegment => ({ text, special: true });

/** Creates the detectors that end the filling of a gap; they have state, so each choice needs new ones. */
function createEndDetectors(gap: Extract<TextPrompt, { type: 'fill' }>): readonly EndDetector[] {
  const { prefix, suffix } = gap;
  const beginning = createBeginningPattern(suffix);
  // A text that contains fences may be filled with one, so a fence ends only other fillings.
  const hasFences = prefix.includes('```') || suffix.includes('```');
  const patterns = [...(beginning ? [beginning] : []), ...(hasFences ? [] : [FENCE_PATTERN])];
  return [
    ...patterns.map(
      (pattern): EndDetector =>
        (seen, at) =>
          matchLinePattern(pattern, seen, at),
    ),
    ...[createBlockEndDetector(gap), createClosingDetector(gap)].filter((look) => look !== undefined),
  ];
}
