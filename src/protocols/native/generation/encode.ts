import type { ChoiceResult, GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import type { AnswerForm } from './form.ts';
import { encodeBody } from './body.ts';
import { programOf } from './output.ts';
import type { Said } from './output.ts';
import { createFindings } from './search-info.ts';

/** The whole answer, as wire.md 1.3 has it. */
export function encode({ choices, usage }: GenerationResult, form: AnswerForm, requestId: string): object {
  const findings = createFindings();
  for (const { blocks } of choices)
    for (const block of blocks) if (block.type === 'server-call') findings.add(block.result);
  const searchInfo = form.sources === 'none' ? undefined : findings.take();
  return encodeBody({ said: choices.map(toSaid), searchInfo, usage }, form, requestId);
}

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
    programs: blocks.flatMap((block) => (block.type === 'server-call' ? programOf(block.call) : [])),
    reason: FINISH_REASONS[reason],
  };
}

const joined = (blocks: readonly { readonly text: string }[]): string => blocks.map(({ text }) => text).join('');
