import type { GenerationResult, ResultBlock } from '../../../core/result.ts';
import { citedPieces } from './cited-text.ts';
import type { CitedPiece } from './cited-text.ts';
import { containerOf } from './container.ts';
import { messageId } from './head.ts';
import type { MessageHead } from './head.ts';
import { citationBlock, serverResult, serverUse } from './server-blocks.ts';
import { signatureOf } from './signature.ts';
import { encodeStop } from './stop-reason.ts';
import { encodeUsage } from './usage.ts';

/** The message object, keys in the order of wire.md E3.2. */
export function encode(head: MessageHead, { choices: [choice], usage }: GenerationResult): object {
  const blocks = choice?.blocks ?? [];
  const container = containerOf(
    blocks.flatMap((block) => (block.type === 'server-call' ? [block.call] : [])),
    head,
  );
  return {
    id: messageId(head),
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: blocks.flatMap(encodeBlock),
    ...encodeStop(choice?.reason ?? 'stop', choice?.stop),
    usage: encodeUsage(usage),
    ...(container ? { container } : {}),
  };
}

/** A block that says nothing is none, streamed or not. */
function encodeBlock(block: ResultBlock): readonly object[] {
  if (block.type === 'server-call') return [serverUse(block.id, block.call), serverResult(block.id, block.result)];
  if (block.type === 'tool-call')
    return [{ type: 'tool_use', id: block.id, name: block.name, input: inputOf(block.text) }];
  if (block.text === '') return [];
  if (block.type === 'reasoning')
    return [{ type: 'thinking', thinking: block.text, signature: signatureOf(block.text) }];
  return citedPieces(block.text, block.citations ?? []).flatMap(encodeText);
}

const encodeText = ({ text, citations }: CitedPiece): readonly object[] =>
  text === ''
    ? []
    : [{ type: 'text', text, ...(citations.length > 0 ? { citations: citations.map(citationBlock) } : {}) }];

/** Arguments are an object; those that a token limit cut off are none, and `stop_reason` says so. */
function inputOf(text: string): object {
  try {
    const input: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {};
  } catch {
    return {};
  }
}
