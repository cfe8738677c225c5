import type { ChoiceResult, GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import type { AnswerForm } from './form.ts';
import { encodeOutput } from './output.ts';
import type { Said } from './output.ts';
import { encodeUsage } from './usage.ts';

/** The whole answer, as wire.md 1.3 has it; status_code, code and message are no fields of a success (decisions.md). */
export const encode = ({ choices, usage }: GenerationResult, form: AnswerForm, requestId: string): object => ({
  output: encodeOutput(choices.map(toSaid), form),
  usage: encodeUsage(usage, form),
  request_id: requestId,
});

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
