import { ServiceError } from '../../../core/error.ts';
import type { Block, TokenLogprob } from '../../../core/event.ts';
import type { Citation, ServerCall, ServerCallResult } from '../../../core/server-tools.ts';
import { assert } from '../../../lib/assert.ts';
import { escapeLineEnds, sseComment } from '../../../lib/sse.ts';
import { numberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { status } from '../errors.ts';
import { encodeBegun, encodeFailed, lacksAnswer, LAST_STATUS } from './encode.ts';
import type { ResponseObject } from './encode.ts';
import type { ResponseHead } from './head.ts';
import {
  annotation,
  itemId,
  NOTHING,
  openedItem,
  outputItem,
  summaryPart,
  tellLogprobs,
  textPart,
} from './output-item.ts';
import type { OutputItem, OutputStatus, Said } from './output-item.ts';
import type { ResponseEvent } from './response-event.ts';
import { framesAfter, framesBefore, openedServerItem, serverItem } from './server-item.ts';

export interface ResponseEncoder extends StreamEncoder<ResponseEvent> {
  /** The object that `fail` tells. */
  failed(error: ServiceError): ResponseObject;
}

/**
 * Events as wire.md E6.5 has them, in the vendor's frames, numbered without gaps.
 *
 * A token costs one `JSON.stringify` of its text and one concatenation: what surrounds it is made once per item. An item of
 * thought or text is opened by its first piece, so that one which stays empty is never seen. It is closed when the next one
 * begins or the answer ends: only then is it known whether it is whole.
 *
 * @param begunAt Its beginning was told already; the next event has this number.
 */
export function responseStream(head: ResponseHead, { begunAt }: { readonly begunAt?: number } = {}): ResponseEncoder {
  const output: OutputItem[] = [];
  let sequence = begunAt ?? 0;
  let hasBegun = begunAt !== undefined;
  let isEnded = false;
  let open: OpenItem | undefined;
  /** What has begun and has said nothing yet: until it does, the item before it may still be the last. */
  let waiting: Block | undefined;
  /** What is done on our side, and has no result yet. */
  let work: ServerCall | undefined;

  const frame = (type: string, facts: object, code = 200): string => {
    const data = { type, ...facts, sequence_number: sequence };
    return numberedFrame({ id: ++sequence, event: type, status: code, data });
  };

  const begin = (): string => {
    if (hasBegun) return '';
    hasBegun = true;
    const response = encodeBegun(head);
    return frame('response.created', { response }) + frame('response.in_progress', { response });
  };

  const openItem = (block: Block): string => {
    const closed = closeItem('completed');
    const place = { head, index: output.length };
    open = createOpenItem(block, itemId(block, place), place.index);
    waiting = undefined;
    const added = frame('response.output_item.added', { output_index: place.index, item: openedItem(block, place) });
    return closed + added + tellAll(open.frames.opened);
  };

  const delta = (text: string, logprobs: readonly TokenLogprob[]): string => {
    if (text === '' && logprobs.length === 0) return '';
    const start = waiting ? openItem(waiting) : '';
    assert(open, 'a delta comes after the start of its block');
    open.say(text, logprobs);
    const told = open.hasLogprobs && logprobs.length > 0 ? JSON.stringify(tellLogprobs(logprobs)) : '[]';
    const before = sequence++;
    return `${start}id:${sequence}${open.beforeDelta}${JSON.stringify(text)}${
      open.hasLogprobs ? `,"logprobs":${told}` : ''
    },"sequence_number":${before}}\n\n`;
  };

  const cite = (citations: readonly Citation[]): string => {
    // Of a text that stayed empty there is nothing to cite.
    if (!open || waiting) return '';
    const first = open.cite(citations);
    const place = { item_id: open.id, output_index: output.length, content_index: 0 };
    return citations
      .map((each, at) =>
        frame('response.output_text.annotation.added', {
          ...place,
          annotation_index: first + at,
          annotation: annotation(each),
        }),
      )
      .join('');
  };

  const beginWork = (call: ServerCall): string => {
    const closed = closeItem('completed');
    waiting = undefined;
    const index = output.length;
    const item = openedServerItem(call, { head, index });
    work = call;
    const added = frame('response.output_item.added', { output_index: index, item });
    return closed + added + tellAll(framesBefore(call, { item_id: item.id, output_index: index }));
  };

  const endWork = (result: ServerCallResult): string => {
    assert(work, 'a result comes after its call');
    const index = output.length;
    const item = serverItem(work, result, { head, index });
    const told = tellAll(framesAfter(work, result, { item_id: item.id, output_index: index }));
    output.push(item);
    work = undefined;
    return told + frame('response.output_item.done', { output_index: index, item });
  };

  const tellAll = (frames: readonly Frame[]): string => frames.map(([type, facts]) => frame(type, facts)).join('');

  const closeItem = (as: OutputStatus): string => {
    if (!open) return '';
    const said = open.said();
    const item = outputItem(open.block, said, { head, index: output.length }, as);
    const closing = tellAll(open.frames.closed(said));
    const done = frame('response.output_item.done', { output_index: output.length, item });
    output.push(item);
    open = undefined;
    return closing + done;
  };

  const encodeEvent = (event: ResponseEvent): string => {
    switch (event.type) {
      case 'start':
        return begin();
      case 'block-start':
        waiting = event.block;
        return event.block.type === 'tool-call' ? openItem(event.block) : '';
      case 'block-delta':
        return delta(event.text, event.logprobs ?? []) + (event.citations ? cite(event.citations) : '');
      case 'block-end':
        return '';
      case 'server-call':
        return beginWork(event.call);
      case 'server-result':
        return endWork(event.result);
      case 'choice-end': {
        const as = LAST_STATUS[event.reason];
        const closed = closeItem(as);
        if (!lacksAnswer(output, event.reason)) return closed;
        return closed + openItem({ type: 'text' }) + closeItem(as);
      }
      case 'response-end':
        isEnded = true;
        return frame(`response.${event.response.status}`, { response: event.response });
    }
  };

  const failed = (error: ServiceError): ResponseObject => encodeFailed(head, error, output);

  return {
    contentType: EVENT_STREAM,
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += encodeEvent(event);
      return escapeLineEnds(text);
    },
    keepAlive: () => sseComment('keep-alive'),
    failed,
    fail: (error) =>
      escapeLineEnds(begin() + frame('response.failed', { response: failed(error) }, status(error.kind))),
    close() {
      if (!isEnded) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      return '';
    },
  };
}

export const EVENT_STREAM = 'text/event-stream;charset=UTF-8';

type Frame = readonly [type: string, facts: object];

/** An item that is being told. */
interface OpenItem {
  readonly block: Block;
  readonly id: string;
  readonly frames: { readonly opened: readonly Frame[]; closed(said: Said): readonly Frame[] };
  /** Of a delta's frame, from behind its id to the text. */
  readonly beforeDelta: string;
  /** Whether a delta tells log probabilities. */
  readonly hasLogprobs: boolean;
  say(text: string, logprobs: readonly TokenLogprob[]): void;
  /** @returns the position of the first of these among all. */
  cite(citations: readonly Citation[]): number;
  said(): Said;
}

function createOpenItem(block: Block, id: string, index: number): OpenItem {
  const place = { item_id: id, output_index: index };
  const pieces: string[] = [];
  const tokens: TokenLogprob[] = [];
  const cited: Citation[] = [];
  const { name, frames } = framesOf(block, place);
  const facts = JSON.stringify({ type: `${name}.delta`, ...frames.place }).slice(0, -1);
  return {
    block,
    id,
    frames,
    beforeDelta: `\nevent:${name}.delta\n:HTTP_STATUS/200\ndata:${facts},"delta":`,
    hasLogprobs: block.type === 'text',
    say(text, logprobs) {
      pieces.push(text);
      if (logprobs.length > 0) tokens.push(...logprobs);
    },
    cite: (citations) => cited.push(...citations) - citations.length,
    said: () => ({ text: pieces.join(''), logprobs: tokens, citations: cited }),
  };
}

interface Frames {
  /** What all of them repeat. */
  readonly place: object;
  readonly opened: readonly Frame[];
  closed(said: Said): readonly Frame[];
}

/** What stands between `output_item.added` and `output_item.done`. */
function framesOf(block: Block, item: object): { readonly name: string; readonly frames: Frames } {
  switch (block.type) {
    case 'text': {
      const place = { ...item, content_index: 0 };
      const name = 'response.output_text';
      return {
        name,
        frames: {
          place,
          opened: [['response.content_part.added', { ...place, part: textPart(NOTHING) }]],
          closed: (said) => [
            [`${name}.done`, { ...place, text: said.text, logprobs: tellLogprobs(said.logprobs) }],
            ['response.content_part.done', { ...place, part: textPart(said) }],
          ],
        },
      };
    }
    case 'reasoning': {
      const place = { ...item, summary_index: 0 };
      const name = 'response.reasoning_summary_text';
      const part = 'response.reasoning_summary_part';
      return {
        name,
        frames: {
          place,
          opened: [[`${part}.added`, { ...place, part: summaryPart('') }]],
          closed: ({ text }) => [
            [`${name}.done`, { ...place, text }],
            [`${part}.done`, { ...place, part: summaryPart(text) }],
          ],
        },
      };
    }
    case 'tool-call': {
      const name = 'response.function_call_arguments';
      return {
        name,
        frames: {
          place: item,
          opened: [],
          closed: ({ text }) => [[`${name}.done`, { ...item, name: block.name, arguments: text }]],
        },
      };
    }
  }
}
