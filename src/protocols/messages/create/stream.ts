import type { Block, GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Citation, ServerCall } from '../../../core/server-tools.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { errorBody } from '../errors.ts';
import { citedPieces } from './cited-text.ts';
import { containerOf } from './container.ts';
import { messageId } from './head.ts';
import type { MessageHead } from './head.ts';
import { citationBlock, openedServerUse, serverInput, serverResult } from './server-blocks.ts';
import { signatureOf } from './signature.ts';
import { encodeStop } from './stop-reason.ts';
import { encodeUsage } from './usage.ts';

type Delta = Extract<GenerationEvent, { readonly type: 'block-delta' }>;
type ChoiceEnd = Extract<GenerationEvent, { readonly type: 'choice-end' }>;

const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

/**
 * Events as wire.md E3.3 has them. A block of text or thought is opened by its first piece, so that one which stays empty
 * is never seen; a call is opened by its name. A result of work on our side is told whole as its block begins.
 */
export function messageStream(head: MessageHead): StreamEncoder<GenerationEvent> {
  let block: Block | undefined;
  /** Position of the open block; -1 while it has said nothing. */
  let open = -1;
  let blocks = 0;
  let thought = '';
  /** What a block of text said so far. */
  let told = '';
  const calls: ServerCall[] = [];
  let last: ChoiceEnd | undefined;
  let isEnded = false;

  const openBlock = (content: object): string => {
    open = blocks++;
    const start = event('content_block_start', { index: open, content_block: content });
    return open === 0 ? start + PING : start;
  };

  const encodeStart = (next: Block): string => {
    block = next;
    open = -1;
    thought = '';
    told = '';
    return next.type === 'tool-call' ? openBlock({ type: 'tool_use', id: next.id, name: next.name, input: {} }) : '';
  };

  const encodeText = (text: string): string =>
    text === ''
      ? ''
      : (open < 0 ? openBlock({ type: 'text', text: '' }) : '') + delta(open, 'text_delta', 'text', text);

  /** A block ends with the sentence that cites; what follows is of another one. */
  const encodeCited = (text: string, citations: readonly Citation[]): string => {
    const pieces = citedPieces(text, citations, Array.from(told).length);
    let said = '';
    for (const piece of pieces) {
      said += encodeText(piece.text);
      if (piece.citations.length === 0 || open < 0) continue;
      for (const citation of piece.citations.map(citationBlock))
        said += event('content_block_delta', { index: open, delta: { type: 'citations_delta', citation } });
      said += encodeEnd();
      open = -1;
    }
    return said;
  };

  const encodeDelta = ({ text, citations = [] }: Delta): string => {
    if (!block || (text === '' && citations.length === 0)) return '';
    switch (block.type) {
      case 'text': {
        const said = citations.length > 0 ? encodeCited(text, citations) : encodeText(text);
        told += text;
        return said;
      }
      case 'reasoning':
        thought += text;
        return (
          (open < 0 ? openBlock({ type: 'thinking', thinking: '', signature: '' }) : '') +
          delta(open, 'thinking_delta', 'thinking', text)
        );
      case 'tool-call':
        return delta(open, 'input_json_delta', 'partial_json', text);
    }
  };

  const encodeEnd = (): string => {
    if (open < 0) return '';
    const signed = block?.type === 'reasoning' ? delta(open, 'signature_delta', 'signature', signatureOf(thought)) : '';
    return signed + event('content_block_stop', { index: open });
  };

  const encodeCall = (id: string, call: ServerCall): string => {
    calls.push(call);
    block = undefined;
    const start = openBlock(openedServerUse(id, call));
    const input = delta(open, 'input_json_delta', 'partial_json', JSON.stringify(serverInput(call)));
    return start + input + encodeEnd();
  };

  const encodeEvent = (each: GenerationEvent): string => {
    switch (each.type) {
      case 'start':
        return event('message_start', {
          message: {
            id: messageId(head),
            type: 'message',
            role: 'assistant',
            model: head.model,
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: Math.max(0, each.inputTokens - each.cachedTokens), output_tokens: 0 },
          },
        });
      case 'block-start':
        return encodeStart(each.block);
      case 'block-delta':
        return encodeDelta(each);
      case 'block-end':
        return encodeEnd();
      case 'server-call':
        return encodeCall(each.id, each.call);
      case 'server-result':
        block = undefined;
        return openBlock(serverResult(each.id, each.result)) + encodeEnd();
      case 'choice-end':
        last = each;
        return '';
      case 'end': {
        isEnded = true;
        const container = containerOf(calls, head);
        return (
          event('message_delta', {
            delta: { ...encodeStop(last?.reason ?? 'stop', last?.stop), ...(container ? { container } : {}) },
            usage: encodeUsage(each.usage),
          }) + event('message_stop', {})
        );
      }
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push: (events) => events.map(encodeEvent).join(''),
    keepAlive: () => PING,
    fail: (error) => `event: error\ndata: ${JSON.stringify(errorBody(error, head.requestId))}\n\n`,
    close() {
      if (!isEnded) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      return '';
    },
  };
}

const event = (type: string, facts: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...facts })}\n\n`;

/** The event that comes once a token. */
const delta = (index: number, type: string, field: string, text: string): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${JSON.stringify(text)}}}\n\n`;
