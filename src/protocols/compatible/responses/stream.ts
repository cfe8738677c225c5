import type { ServiceError } from '../../../core/error.ts';
import type { Block, TokenLogprob } from '../../../core/event.ts';
import type { Citation, ServerCall, ServerCallResult } from '../../../core/server-tools.ts';
import { assert } from '../../../lib/assert.ts';
import { escapeLineSeparators, encodeSseComment } from '../../../lib/sse.ts';
import { encodeNumberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { getStatus } from '../errors.ts';
import { encodeInProgress, encodeFailed, needsEmptyMessage, LAST_ITEM_STATUS, type ResponseObject } from './encode.ts';
import type { ResponseHead } from './head.ts';
import {
  encodeAnnotation,
  formatItemId,
  EMPTY_CONTENT,
  encodeOpenedItem,
  encodeOutputItem,
  encodeSummaryPart,
  encodeOutputLogprobs,
  encodeTextPart,
  type OutputItem,
  type OutputStatus,
  type ItemContent,
} from './output-item.ts';
import type { ResponseEvent } from './response-event.ts';
import { encodeToolEndEvents, encodeToolStartEvents, encodeOpenedServerItem, encodeServerItem } from './server-item.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

export interface ResponseEncoder extends StreamEncoder<ResponseEvent> {
  /** Returns the failed response object that `fail` encodes. */
  encodeFailure(error: ServiceError): ResponseObject;
}

/**
 * Creates the encoder of a response stream: numbered frames without gaps
 * (docs/wire/openai-compatible.md#responses-stream).
 *
 * For speed, the text around a token is built once per item: a token costs one `JSON.stringify` and one concatenation.
 * A text or reasoning item opens with its first piece, so an empty one never appears. It closes when the next item
 * starts or the answer ends, because only then its status is known.
 *
 * @param startSequence Sequence number of the next event, if the start events were already sent.
 */
export function createResponseStreamEncoder(
  head: ResponseHead,
  { startSequence }: { readonly startSequence?: number } = {},
): ResponseEncoder {
  const output: OutputItem[] = [];
  let sequence = startSequence ?? 0;
  let hasStarted = startSequence !== undefined;
  let isFinished = false;
  let open: OpenItem | undefined;
  /** A started block without content: until it has some, the item before it may still be the last one. */
  let pendingBlock: Block | undefined;
  /** The running server tool call. */
  let serverCall: ServerCall | undefined;

  const frame = (type: string, fields: object, code = 200): string => {
    const data = { type, ...fields, sequence_number: sequence };
    return encodeNumberedFrame({ id: ++sequence, event: type, status: code, data });
  };

  const start = (): string => {
    if (hasStarted) return '';
    hasStarted = true;
    const response = encodeInProgress(head);
    return frame('response.created', { response }) + frame('response.in_progress', { response });
  };

  const openItem = (block: Block): string => {
    const closed = closeItem('completed');
    const position = { head, index: output.length };
    open = createOpenItem(block, formatItemId(block, position), position.index);
    pendingBlock = undefined;
    const added = frame('response.output_item.added', {
      output_index: position.index,
      item: encodeOpenedItem(block, position),
    });
    return closed + added + encodeFrames(open.frames.opened);
  };

  const delta = (text: string, logprobs: readonly TokenLogprob[]): string => {
    if (text === '' && logprobs.length === 0) return '';
    const opening = pendingBlock ? openItem(pendingBlock) : '';
    assert(open, 'a delta comes after the start of its block');
    open.append(text, logprobs);
    const encodedLogprobs =
      open.hasLogprobs && logprobs.length > 0 ? JSON.stringify(encodeOutputLogprobs(logprobs)) : '[]';
    const before = sequence++;
    return `${opening}id:${sequence}${open.beforeDelta}${JSON.stringify(text)}${
      open.hasLogprobs ? `,"logprobs":${encodedLogprobs}` : ''
    },"sequence_number":${before}}\n\n`;
  };

  const encodeCitations = (citations: readonly Citation[]): string => {
    // A text that stayed empty has nothing to cite.
    if (!open || pendingBlock) return '';
    const first = open.addCitations(citations);
    const location = { item_id: open.id, output_index: output.length, content_index: 0 };
    return citations
      .map((each, at) =>
        frame('response.output_text.annotation.added', {
          ...location,
          annotation_index: first + at,
          annotation: encodeAnnotation(each),
        }),
      )
      .join('');
  };

  const startServerCall = (call: ServerCall): string => {
    const closed = closeItem('completed');
    pendingBlock = undefined;
    const index = output.length;
    const item = encodeOpenedServerItem(call, { head, index });
    serverCall = call;
    const added = frame('response.output_item.added', { output_index: index, item });
    return closed + added + encodeFrames(encodeToolStartEvents(call, { item_id: item.id, output_index: index }));
  };

  const finishServerCall = (result: ServerCallResult): string => {
    assert(serverCall, 'a result comes after its call');
    const index = output.length;
    const item = encodeServerItem(serverCall, result, { head, index });
    const frames = encodeFrames(encodeToolEndEvents(serverCall, result, { item_id: item.id, output_index: index }));
    output.push(item);
    serverCall = undefined;
    return frames + frame('response.output_item.done', { output_index: index, item });
  };

  const encodeFrames = (frames: readonly Frame[]): string =>
    frames.map(([type, fields]) => frame(type, fields)).join('');

  const closeItem = (itemStatus: OutputStatus): string => {
    if (!open) return '';
    const content = open.getContent();
    const item = encodeOutputItem(open.block, content, { head, index: output.length }, itemStatus);
    const closing = encodeFrames(open.frames.closed(content));
    const done = frame('response.output_item.done', { output_index: output.length, item });
    output.push(item);
    open = undefined;
    return closing + done;
  };

  const encodeEvent = (event: ResponseEvent): string => {
    switch (event.type) {
      case 'start':
        return start();
      case 'prompt':
        return '';
      case 'block-start':
        pendingBlock = event.block;
        return event.block.type === 'tool-call' ? openItem(event.block) : '';
      case 'block-delta':
        return delta(event.text, event.logprobs ?? []) + (event.citations ? encodeCitations(event.citations) : '');
      case 'block-end':
        return '';
      case 'server-call':
        return startServerCall(event.call);
      case 'server-result':
        return finishServerCall(event.result);
      case 'choice-end': {
        const itemStatus = LAST_ITEM_STATUS[event.reason];
        const closed = closeItem(itemStatus);
        if (!needsEmptyMessage(output, event.reason)) return closed;
        return closed + openItem({ type: 'text' }) + closeItem(itemStatus);
      }
      case 'response-end':
        isFinished = true;
        return frame(`response.${event.response.status}`, { response: event.response });
    }
  };

  const encodeFailure = (error: ServiceError): ResponseObject => encodeFailed(head, error, output);

  return {
    contentType: EVENT_STREAM,
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += encodeEvent(event);
      return escapeLineSeparators(text);
    },
    keepAlive: () => encodeSseComment('keep-alive'),
    encodeFailure,
    fail: (error) =>
      escapeLineSeparators(
        start() + frame('response.failed', { response: encodeFailure(error) }, getStatus(error.kind)),
      ),
    close() {
      if (!isFinished) throw createIncompleteAnswerError();
      return '';
    },
  };
}

export const EVENT_STREAM = 'text/event-stream;charset=UTF-8';

type Frame = readonly [type: string, fields: object];

/** The output item that is being streamed. */
interface OpenItem {
  readonly block: Block;
  readonly id: string;
  readonly frames: { readonly opened: readonly Frame[]; closed(content: ItemContent): readonly Frame[] };
  /** Text of a delta's frame between its id and the delta text. */
  readonly beforeDelta: string;
  /** Whether deltas contain log probabilities. */
  readonly hasLogprobs: boolean;
  append(text: string, logprobs: readonly TokenLogprob[]): void;
  /** Adds citations and returns the index of the first one. */
  addCitations(citations: readonly Citation[]): number;
  getContent(): ItemContent;
}

function createOpenItem(block: Block, id: string, index: number): OpenItem {
  const location = { item_id: id, output_index: index };
  const pieces: string[] = [];
  const tokens: TokenLogprob[] = [];
  const cited: Citation[] = [];
  const { name, frames } = createFrames(block, location);
  const deltaFields = JSON.stringify({ type: `${name}.delta`, ...frames.sharedFields }).slice(0, -1);
  return {
    block,
    id,
    frames,
    beforeDelta: `\nevent:${name}.delta\n:HTTP_STATUS/200\ndata:${deltaFields},"delta":`,
    hasLogprobs: block.type === 'text',
    append(text, logprobs) {
      pieces.push(text);
      if (logprobs.length > 0) tokens.push(...logprobs);
    },
    addCitations: (citations) => cited.push(...citations) - citations.length,
    getContent: () => ({ text: pieces.join(''), logprobs: tokens, citations: cited }),
  };
}

interface Frames {
  /** Fields that all frames of the item repeat. */
  readonly sharedFields: object;
  readonly opened: readonly Frame[];
  closed(content: ItemContent): readonly Frame[];
}

/** Creates the frames between `output_item.added` and `output_item.done`. */
function createFrames(block: Block, item: object): { readonly name: string; readonly frames: Frames } {
  switch (block.type) {
    case 'text': {
      const location = { ...item, content_index: 0 };
      const name = 'response.output_text';
      return {
        name,
        frames: {
          sharedFields: location,
          opened: [['response.content_part.added', { ...location, part: encodeTextPart(EMPTY_CONTENT) }]],
          closed: (content) => [
            [`${name}.done`, { ...location, text: content.text, logprobs: encodeOutputLogprobs(content.logprobs) }],
            ['response.content_part.done', { ...location, part: encodeTextPart(content) }],
          ],
        },
      };
    }
    case 'reasoning': {
      const location = { ...item, summary_index: 0 };
      const name = 'response.reasoning_summary_text';
      const part = 'response.reasoning_summary_part';
      return {
        name,
        frames: {
          sharedFields: location,
          opened: [[`${part}.added`, { ...location, part: encodeSummaryPart('') }]],
          closed: ({ text }) => [
            [`${name}.done`, { ...location, text }],
            [`${part}.done`, { ...location, part: encodeSummaryPart(text) }],
          ],
        },
      };
    }
    case 'tool-call': {
      const name = 'response.function_call_arguments';
      return {
        name,
        frames: {
          sharedFields: item,
          opened: [],
          closed: ({ text }) => [[`${name}.done`, { ...item, name: block.name, arguments: text }]],
        },
      };
    }
  }
}
