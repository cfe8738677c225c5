import type { GenerationResult, ResultBlock } from '../../../core/result.ts';
import { splitByCitations, type CitedPiece } from './cited-text.ts';
import { encodeContainer } from './container.ts';
import { formatMessageId, type MessageHead } from './head.ts';
import { encodeCitation, encodeServerResult, encodeServerUse } from './server-blocks.ts';
import { computeSignature } from './signature.ts';
import { encodeStopReason } from './stop-reason.ts';
import { encodeUsage } from './usage.ts';
import { isRecord } from '../../../lib/is-record.ts';

/** Encodes the message object, keys in the documented order (docs/wire/anthropic-compatible.md#messages-response). */
export function encodeMessage(head: MessageHead, { choices: [choice], usage }: GenerationResult): object {
  const blocks = choice?.blocks ?? [];
  const container = encodeContainer(
    blocks.flatMap((block) => (block.type === 'server-call' ? [block.call] : [])),
    head,
  );
  return {
    id: formatMessageId(head),
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: blocks.flatMap(encodeBlock),
    ...encodeStopReason(choice?.reason ?? 'stop', choice?.stop),
    usage: encodeUsage(usage),
    ...(container ? { container } : {}),
  };
}

/** Encodes a block; an empty text or thinking block is omitted, as in the stream. */
function encodeBlock(block: ResultBlock): readonly object[] {
  if (block.type === 'server-call')
    return [encodeServerUse(block.id, block.call), encodeServerResult(block.id, block.result)];
  if (block.type === 'tool-call')
    return [{ type: 'tool_use', id: block.id, name: block.name, input: parseToolInput(block.text) }];
  if (block.text === '') return [];
  if (block.type === 'reasoning')
    return [{ type: 'thinking', thinking: block.text, signature: computeSignature(block.text) }];
  return splitByCitations(block.text, block.citations ?? []).flatMap(encodeText);
}

const encodeText = ({ text, citations }: CitedPiece): readonly object[] =>
  text === ''
    ? []
    : [{ type: 'text', text, ...(citations.length > 0 ? { citations: citations.map(encodeCitation) } : {}) }];

/** Parses arguments. Arguments cut off by the token limit yield {}; `stop_reason` is then `max_tokens`. */
function parseToolInput(text: string): object {
  try {
    const input: unknown = JSON.parse(text === '' ? '{}' : text);
    return isRecord(input) ? input : {};
  } catch {
    return {};
  }
}
