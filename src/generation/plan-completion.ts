import { fillInTheMiddleOf } from '../catalogue/families/fill-in-the-middle.ts';
import type { FillInTheMiddle } from '../catalogue/families/family.ts';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { PromptSegment } from '../core/prompt.ts';
import type { TextPrompt } from '../core/request.ts';
import type { EngineInput, TextEngine } from '../engines/engine.ts';
import type { Plan } from './plan.ts';
import { closingOf, createBlockEnd } from './stages/block-end.ts';
import { createFillingEnd } from './stages/filling-end.ts';
import { beginningOf, FENCE, lookFor } from './stages/line-pattern.ts';
import type { Look } from './stages/line-pattern.ts';

interface CompletionNeeds {
  readonly entry: ModelEntry;
  readonly engine: TextEngine;
  /** Of the model's family; otherwise its vocabulary tells. */
  readonly fillInTheMiddle?: FillInTheMiddle | undefined;
}

/**
 * A prompt that is completed as it stands, without a template.
 *
 * @throws ServiceError `unsupported` where the model's engine takes conversations only, or where there is something to
 *   lead up to and the model cannot fill in the middle.
 */
export async function planCompletion(prompt: TextPrompt, { entry, engine, ...style }: CompletionNeeds): Promise<Plan> {
  if (engine.capabilities.input === 'chat')
    throw new ServiceError('unsupported', `Model ${entry.name} runs on a server that takes conversations only.`, {
      param: 'model',
    });
  const { specialTokens } = await engine.model();
  const canFill = entry.abilities.fillInTheMiddle !== false;
  const fill = canFill ? fillInTheMiddleOf(style.fillInTheMiddle, specialTokens) : undefined;
  if (prompt.type === 'fill' && prompt.suffix !== '' && !fill)
    throw new ServiceError('unsupported', `Model ${entry.name} cannot fill in the middle: it takes no suffix.`, {
      param: 'suffix',
    });
  return {
    unheard: [],
    asked: { input: inputOf(prompt, fill), phases: [] },
    stopTokens: fill?.stopTokens ?? [],
    stagesOf: () => (prompt.type === 'fill' ? [createFillingEnd(endsOf(prompt))] : []),
  };
}

function inputOf(prompt: TextPrompt, fill: FillInTheMiddle | undefined): EngineInput {
  switch (prompt.type) {
    case 'tokens':
      return prompt;
    case 'text':
      return { type: 'segments', segments: [{ text: prompt.text, special: false }] };
    case 'fill': {
      const { prefix, suffix } = prompt;
      // Nothing to lead up to, and no words for it: what follows a prefix is its continuation.
      if (!fill) return { type: 'segments', segments: [{ text: prefix, special: false }] };
      const before = [special(fill.prefix), { text: prefix, special: false }];
      const behind = [special(fill.suffix), { text: suffix, special: false }];
      const parts = fill.first === 'suffix' ? [...behind, ...before] : [...before, ...behind];
      const segments = [...parts, ...(fill.middle === undefined ? [] : [special(fill.middle)])];
      return { type: 'segments', segments: segments.filter(({ text }) => text !== '') };
    }
  }
}

const special = (text: string): PromptSegment => ({ text, special: true });

/** What ends a filling; made anew for each choice. */
function endsOf(gap: Extract<TextPrompt, { type: 'fill' }>): readonly Look[] {
  const { prefix, suffix } = gap;
  const beginning = beginningOf(suffix);
  // A text with fences of its own may well be filled with one.
  const hasFences = prefix.includes('```') || suffix.includes('```');
  const patterns = [...(beginning ? [beginning] : []), ...(hasFences ? [] : [FENCE])];
  return [
    ...patterns.map(
      (pattern): Look =>
        (seen, at) =>
          lookFor(pattern, seen, at),
    ),
    ...[createBlockEnd(gap), closingOf(gap)].filter((look) => look !== undefined),
  ];
}
