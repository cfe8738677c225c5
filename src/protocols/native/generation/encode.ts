import type { ChoiceResult, GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import type { AnswerFormat } from './answer-format.ts';
import { encodeBody } from './body.ts';
import { listPrograms, type ChoiceContent } from './output.ts';
import { createSearchInfoBuilder } from './search-info.ts';

/** Encodes the unstreamed response (docs/wire/dashscope-native.md#generation-response). */
export function encodeGeneration(
  { choices, usage }: GenerationResult,
  format: AnswerFormat,
  requestId: string,
): object {
  const searchInfoBuilder = createSearchInfoBuilder();
  for (const { blocks } of choices)
    for (const block of blocks) if (block.type === 'server-call') searchInfoBuilder.add(block.result);
  const searchInfo = format.sources === 'none' ? undefined : searchInfoBuilder.takeAll();
  return encodeBody({ choices: choices.map(toChoiceContent), searchInfo, usage }, format, requestId);
}

function toChoiceContent({ blocks, reason }: ChoiceResult, index: number): ChoiceContent {
  const texts = blocks.filter((block) => block.type === 'text');
  const thoughts = blocks.filter((block) => block.type === 'reasoning');
  return {
    index,
    text: joinText(texts),
    reasoning: thoughts.length > 0 ? joinText(thoughts) : undefined,
    calls: blocks
      .filter((block) => block.type === 'tool-call')
      .map(({ id, name, text }, position) => ({
        index: position,
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    logprobs: texts.flatMap(({ logprobs }) => logprobs),
    programs: blocks.flatMap((block) => (block.type === 'server-call' ? listPrograms(block.call) : [])),
    finishReason: FINISH_REASONS[reason],
  };
}

const joinText = (blocks: readonly { readonly text: string }[]): string => blocks.map(({ text }) => text).join('');
