import type { ChoiceResult, GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { formatChatId, type ChatHead } from './head.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import { findSearchOutcome } from '../../search-outcome.ts';
import { encodeUsage } from './usage.ts';

/**
 * Encodes the chat completion object, keys in the documented order (docs/wire/openai-compatible.md#chat-response). After
 * searches that led to no answer the messages have empty `annotations`, the field in which this format lists sources.
 */
export function encodeChatCompletion(head: ChatHead, result: GenerationResult): object {
  const { choices, usage } = result;
  const annotations = findSearchOutcome(result) === undefined ? {} : { annotations: [] };
  return {
    choices: choices.map((choice, index) => encodeChoice(choice, index, annotations)),
    object: 'chat.completion',
    usage: encodeUsage(usage),
    created: head.created,
    service_tier: null,
    system_fingerprint: null,
    model: head.model,
    id: formatChatId(head),
  };
}

function encodeChoice({ blocks, reason }: ChoiceResult, index: number, annotations: object): object {
  const calls = blocks.filter((block) => block.type === 'tool-call');
  const thoughts = blocks.filter((block) => block.type === 'reasoning');
  return {
    message: {
      role: 'assistant',
      content: joinText(blocks.filter((block) => block.type === 'text')),
      reasoning_content: thoughts.length > 0 ? joinText(thoughts) : null,
      refusal: null,
      ...annotations,
      audio: null,
      function_call: null,
      tool_calls:
        calls.length > 0
          ? calls.map(({ id, name, text }, position) => ({
              id,
              type: 'function',
              index: position,
              function: { name, arguments: text },
            }))
          : null,
    },
    finish_reason: FINISH_REASONS[reason],
    index,
    logprobs: encodeLogprobs(blocks.flatMap((block) => (block.type === 'text' ? block.logprobs : []))),
  };
}

const joinText = (blocks: readonly { readonly text: string }[]): string => blocks.map(({ text }) => text).join('');
