import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Block, FinishReason, GenerationEvent } from '../../../core/event.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { createSseParser } from '../../../lib/sse.ts';
import {
  createCitedDeltas,
  citationPositions,
  serverToolCallSamples,
  createServerToolEvents,
} from '../../fields/__fixtures__/test-server-tool-calls.ts';
import { encodeMessage } from './encode.ts';
import { createMessageStreamEncoder } from './stream.ts';

const head = { requestId: 'r', model: 'm', startedAt: 0 };

const block: fc.Arbitrary<Block> = fc.oneof(
  fc.constant<Block>({ type: 'text' }),
  fc.constant<Block>({ type: 'reasoning' }),
  fc.record({ type: fc.constant('tool-call' as const), id: fc.string(), name: fc.string() }),
);

const blockWithPieces = fc.tuple(
  block,
  fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 }),
  fc.nat(6),
  citationPositions,
);

/** Blocks and server tool calls in any order, with pieces of any size. The JSON of a call may be cut off. */
const streams = fc
  .tuple(
    fc.array(fc.oneof({ arbitrary: blockWithPieces, weight: 2 }, serverToolCallSamples), { maxLength: 6 }),
    fc.constantFrom<FinishReason>('stop', 'length', 'tool-calls'),
    fc.option(fc.string(), { nil: undefined }),
    fc.nat(9),
  )
  .map(([parts, reason, stop, cachedTokens]): GenerationEvent[] => [
    { type: 'start', inputTokens: 9, cachedTokens },
    ...parts.flatMap((part, index): GenerationEvent[] => {
      if (!Array.isArray(part)) return createServerToolEvents(part, { choice: 0, index });
      const [each, texts, cut, citationEnds] = part;
      const json = JSON.stringify({ a: texts });
      const pieces = each.type === 'tool-call' ? [json.slice(0, cut), json.slice(cut)] : texts;
      return [
        { type: 'block-start', choice: 0, index, block: each },
        ...(each.type === 'text'
          ? createCitedDeltas(pieces, citationEnds, { choice: 0, index })
          : pieces.map((text): GenerationEvent => ({ type: 'block-delta', choice: 0, index, text }))),
        { type: 'block-end', choice: 0, index },
      ];
    }),
    { type: 'choice-end', choice: 0, reason, ...(stop === undefined ? {} : { stop }) },
    { type: 'end', usage: { promptTokens: 9, cachedTokens, completionTokens: 5 } },
  ]);

function streamToBytes(batches: readonly (readonly GenerationEvent[])[]): string {
  const encoder = createMessageStreamEncoder(head);
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

interface StreamedBlock {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  input?: unknown;
  citations?: unknown[];
}

interface StreamedEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: { readonly content: StreamedBlock[]; readonly usage: object };
  readonly content_block?: StreamedBlock;
  readonly delta?: Readonly<Record<string, string | null>> & {
    readonly citation?: unknown;
    readonly container?: unknown;
  };
  readonly usage?: object;
}

/**
 * Checks the order of events as clients of this interface expect it, and adds the events up: message_start
 * (content_block_start content_block_delta* content_block_stop)* message_delta message_stop, with pings anywhere after
 * the start.
 */
function accumulate(bytes: string): object {
  const frames = createSseParser({ sizeMax: 1_000_000 }).push(bytes);
  const events = frames.map(({ data }) => JSON.parse(data) as StreamedEvent);
  let message: { content: StreamedBlock[] } & Record<string, unknown> = { content: [] };
  let open: { block: StreamedBlock; json: string; deltas: number } | undefined;
  let state: 'before' | 'content' | 'delta' | 'stopped' = 'before';
  for (const event of events) {
    switch (event.type) {
      case 'ping':
        assert.notEqual(state, 'before');
        break;
      case 'message_start':
        assert.equal(state, 'before');
        assert.ok(event.message);
        assert.deepEqual(event.message.content, []);
        message = { ...event.message };
        state = 'content';
        break;
      case 'content_block_start':
        assert.ok(state === 'content' && !open && event.content_block);
        assert.equal(event.index, message.content.length, 'indexes are dense');
        open = { block: event.content_block, json: '', deltas: 0 };
        break;
      case 'content_block_delta': {
        assert.ok(state === 'content' && open && event.delta);
        assert.equal(event.index, message.content.length);
        open.deltas++;
        const { type, text, thinking, signature, partial_json: json, citation } = event.delta;
        if (type === 'text_delta') open.block.text += text ?? '';
        else if (type === 'thinking_delta') open.block.thinking += thinking ?? '';
        else if (type === 'signature_delta') open.block.signature = signature ?? '';
        else if (type === 'citations_delta') (open.block.citations ??= []).push(citation);
        else if (type === 'input_json_delta') open.json += json ?? '';
        else assert.fail(`a delta of type ${type}`);
        break;
      }
      case 'content_block_stop':
        assert.ok(open);
        assert.ok(
          open.deltas > 0 || /tool_(?:use|result)$/.test(open.block.type),
          'a block is opened by its first delta',
        );
        if (open.block.type === 'server_tool_use') assert.equal(open.deltas, 1, 'an input has one delta');
        if (open.block.type.endsWith('_result')) assert.equal(open.deltas, 0, 'a result has no deltas');
        if (open.block.type.endsWith('tool_use')) open.block.input = JSON.parse(open.json === '' ? '{}' : open.json);
        message.content.push(open.block);
        open = undefined;
        break;
      case 'message_delta':
        assert.ok(state === 'content' && !open);
        message = { ...message, ...event.delta, usage: event.usage };
        state = 'delta';
        break;
      case 'message_stop':
        assert.equal(state, 'delta');
        state = 'stopped';
        break;
      default:
        assert.fail(`an event of type ${event.type}`);
    }
  }
  assert.equal(state, 'stopped');
  return message;
}

test('sends events in the order that clients expect, which add up to the unstreamed answer', async () => {
  await fc.assert(
    fc.asyncProperty(streams, async (events) => {
      async function* batches(): AsyncGenerator<readonly GenerationEvent[]> {
        yield events;
      }
      const whole = JSON.parse(JSON.stringify(encodeMessage(head, await collectResult(batches())))) as object;
      assert.deepEqual(accumulate(streamToBytes([events])), whole);
    }),
  );
});

test('encodes the same bytes, however the events are batched', () => {
  fc.assert(
    fc.property(streams, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (events, sizes) => {
      const batches: GenerationEvent[][] = [];
      for (let at = 0, turn = 0; at < events.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        batches.push(events.slice(at, at + size));
        at += size;
      }
      assert.equal(streamToBytes(batches), streamToBytes([events]));
    }),
  );
});

test('fills silence with a ping', () => {
  const encoder = createMessageStreamEncoder(head);
  assert.equal(encoder.keepAlive(), 'event: ping\ndata: {"type":"ping"}\n\n');
});
