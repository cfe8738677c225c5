import type { ChoiceResult, GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { formatChatId, type ChatHead } from './head.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import { encodeUsage } from './usage.ts';

/** Encodes the chat completion object, keys in the documented order (docs/wire/openai-compatible.md#chat-response). */
export function encodeChatCompletion(head: ChatHead, { choices, usage }: GenerationResult): object {
  return {
    choices: choices.map(encodeChoice),
    object: 'chat.completion',
    usage: encodeUsage(usage),
    created: head.created,
    service_tier: null,
    system_fingerprint: null,
    model: head.model,
    id: formatChatId(head),
  };
}

function encodeChoice({ blocks, reason }: ChoiceResult, index: number): object {
  const calls = blocks.filter((block) => block.type === 'tool-call');
  const thoughts = blocks.filter((block) => block.type === 'reasoning');
  return {
    message: {
      role: 'assistant',
      content: joinText(blocks.filter((block) => block.type === 'text')),
      reasoning_content: thoughts.length > 0 ? joinText(thoughts) : null,
      refusal: null,
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
