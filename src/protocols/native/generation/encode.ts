import type { ChoiceResult, GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import type { AnswerForm } from './form.ts';
import { encodeBody } from './body.ts';
import type { Said } from './output.ts';

/** The whole answer, as wire.md 1.3 has it. */
export const encode = ({ choices, usage }: GenerationResult, form: AnswerForm, requestId: string): object =>
  encodeBody(choices.map(toSaid), usage, form, requestId);

function toSaid({ blocks, reason }: ChoiceResult, index: number): Said {
  const texts = blocks.filter((block) => block.type === 'text');
  const thoughts = blocks.filter((block) => block.type === 'reasoning');
  return {
    index,
    text: joined(texts),
    thought: thoughts.length > 0 ? joined(thoughts) : undefined,
    calls: blocks
      .filter((block) => block.type === 'tool-call')
      .map(({ id, name, text }, position) => ({
        index: position,
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    logprobs: texts.flatMap(({ logprobs }) => logprobs),
    reason: FINISH_REASONS[reason],
  };
}

const joined = (blocks: readonly { readonly text: string }[]): string => blocks.map(({ text }) => text).join('');
