import type { GenerationResult, ResultBlock } from '../../../core/result.ts';
import { messageId } from './head.ts';
import type { MessageHead } from './head.ts';
import { signatureOf } from './signature.ts';
import { encodeStop } from './stop-reason.ts';
import { encodeUsage } from './usage.ts';

/** The message object, keys in the order of wire.md E3.2. */
export function encode(head: MessageHead, { choices: [choice], usage }: GenerationResult): object {
  return {
    id: messageId(head),
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: (choice?.blocks ?? []).flatMap(encodeBlock),
    ...encodeStop(choice?.reason ?? 'stop', choice?.stop),
    usage: encodeUsage(usage),
  };
}

/** A block that says nothing is none, streamed or not. */
function encodeBlock(block: ResultBlock): readonly object[] {
  if (block.type === 'tool-call')
    return [{ type: 'tool_use', id: block.id, name: block.name, input: inputOf(block.text) }];
  if (block.text === '') return [];
  return block.type === 'text'
    ? [{ type: 'text', text: block.text }]
    : [{ type: 'thinking', thinking: block.text, signature: signatureOf(block.text) }];
}

/** Arguments are an object; those that a token limit cut off are none, and `stop_reason` says so. */
function inputOf(text: string): object {
  try {
    const input: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {};
  } catch {
    return {};
  }
}
