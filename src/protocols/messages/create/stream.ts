import type { Block, GenerationEvent } from '../../../core/event.ts';
import type { Citation, ServerCall } from '../../../core/server-tools.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { encodeErrorBody } from '../errors.ts';
import { splitByCitations } from './cited-text.ts';
import { encodeContainer } from './container.ts';
import { formatMessageId, type MessageHead } from './head.ts';
import { encodeCitation, encodeServerUseStart, encodeServerInput, encodeServerResult } from './server-blocks.ts';
import { computeSignature } from './signature.ts';
import { encodeStopReason } from './stop-reason.ts';
import { encodeUsage } from './usage.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

type Delta = Extract<GenerationEvent, { readonly type: 'block-delta' }>;
type ChoiceEnd = Extract<GenerationEvent, { readonly type: 'choice-end' }>;

const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

/**
 * Creates the encoder of a messages stream (docs/wire/anthropic-compatible.md#messages-stream). A text or thinking
 * block opens with its first piece, so that an empty one never appears; a call opens with its name; a server tool's
 * result is complete when its block opens.
 */
export function createMessageStreamEncoder(head: MessageHead): StreamEncoder<GenerationEvent> {
  let block: Block | undefined;
  /** Index of the open block; -1 while it has no content. */
  let openIndex = -1;
  let blockCount = 0;
  let thinkingSoFar = '';
  /** Text of the open text block so far. */
  let textSoFar = '';
  const calls: ServerCall[] = [];
  let choiceEnd: ChoiceEnd | undefined;
  let isFinished = false;

  const openBlock = (content: object): string => {
    openIndex = blockCount++;
    const start = encodeFrame('content_block_start', { index: openIndex, content_block: content });
    return openIndex === 0 ? start + PING : start;
  };

  const encodeBlockStart = (next: Block): string => {
    block = next;
    openIndex = -1;
    thinkingSoFar = '';
    textSoFar = '';
    return next.type === 'tool-call' ? openBlock({ type: 'tool_use', id: next.id, name: next.name, input: {} }) : '';
  };

  const encodeText = (text: string): string =>
    text === ''
      ? ''
      : (openIndex < 0 ? openBlock({ type: 'text', text: '' }) : '') +
        encodeDeltaFrame(openIndex, 'text_delta', 'text', text);

  /** A cited sentence ends its block; the text after it starts another block. */
  const encodeCitedText = (text: string, citations: readonly Citation[]): string => {
    const pieces = splitByCitations(text, citations, Array.from(textSoFar).length);
    let frames = '';
    for (const piece of pieces) {
      frames += encodeText(piece.text);
      if (piece.citations.length === 0 || openIndex < 0) continue;
      for (const citation of piece.citations.map(encodeCitation))
        frames += encodeFrame('content_block_delta', {
          index: openIndex,
          delta: { type: 'citations_delta', citation },
        });
      frames += encodeBlockEnd();
      openIndex = -1;
    }
    return frames;
  };

  const encodeDelta = ({ text, citations = [] }: Delta): string => {
    if (!block || (text === '' && citations.length === 0)) return '';
    switch (block.type) {
      case 'text': {
        const frames = citations.length > 0 ? encodeCitedText(text, citations) : encodeText(text);
        textSoFar += text;
        return frames;
      }
      case 'reasoning':
        thinkingSoFar += text;
        return (
          (openIndex < 0 ? openBlock({ type: 'thinking', thinking: '', signature: '' }) : '') +
          encodeDeltaFrame(openIndex, 'thinking_delta', 'thinking', text)
        );
      case 'tool-call':
        return encodeDeltaFrame(openIndex, 'input_json_delta', 'partial_json', text);
    }
  };

  const encodeBlockEnd = (): string => {
    if (openIndex < 0) return '';
    const signatureFrame =
      block?.type === 'reasoning'
        ? encodeDeltaFrame(openIndex, 'signature_delta', 'signature', computeSignature(thinkingSoFar))
        : '';
    return signatureFrame + encodeFrame('content_block_stop', { index: openIndex });
  };

  const encodeCall = (id: string, call: ServerCall): string => {
    calls.push(call);
    block = undefined;
    const start = openBlock(encodeServerUseStart(id, call));
    const input = encodeDeltaFrame(
      openIndex,
      'input_json_delta',
      'partial_json',
      JSON.stringify(encodeServerInput(call)),
    );
    return start + input + encodeBlockEnd();
  };

  const encodeEvent = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'prompt':
        return '';
      case 'start':
        return encodeFrame('message_start', {
          message: {
            id: formatMessageId(head),
            type: 'message',
            role: 'assistant',
            model: head.model,
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: Math.max(0, event.inputTokens - event.cachedTokens), output_tokens: 0 },
          },
        });
      case 'block-start':
        return encodeBlockStart(event.block);
      case 'block-delta':
        return encodeDelta(event);
      case 'block-end':
        return encodeBlockEnd();
      case 'server-call':
        return encodeCall(event.id, event.call);
      case 'server-result':
        block = undefined;
        return openBlock(encodeServerResult(event.id, event.result)) + encodeBlockEnd();
      case 'choice-end':
        choiceEnd = event;
        return '';
      case 'end': {
        isFinished = true;
        const container = encodeContainer(calls, head);
        return (
          encodeFrame('message_delta', {
            delta: {
              ...encodeStopReason(choiceEnd?.reason ?? 'stop', choiceEnd?.stop),
              ...(container ? { container } : {}),
            },
            usage: encodeUsage(event.usage),
          }) + encodeFrame('message_stop', {})
        );
      }
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push: (events) => events.map(encodeEvent).join(''),
    keepAlive: () => PING,
    fail: (error) => `event: error\ndata: ${JSON.stringify(encodeErrorBody(error, head.requestId))}\n\n`,
    close() {
      if (!isFinished) throw createIncompleteAnswerError();
      return '';
    },
  };
}

const encodeFrame = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** Encodes a delta without JSON.stringify of the whole event, because there is one for each token. */
const encodeDeltaFrame = (index: number, type: string, field: string, text: string): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${JSON.stringify(text)}}}\n\n`;
