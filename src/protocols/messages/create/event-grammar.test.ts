import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Block, FinishReason, GenerationEvent } from '../../../core/event.ts';
import { collect } from '../../../generation/collect.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { citedDeltas, citedPlaces, serverWork, workEvents } from '../../fields/__fixtures__/server-work.ts';
import { encode } from './encode.ts';
import { messageStream } from './stream.ts';

const head = { requestId: 'r', model: 'm', startedAt: 0 };

const block: fc.Arbitrary<Block> = fc.oneof(
  fc.constant<Block>({ type: 'text' }),
  fc.constant<Block>({ type: 'reasoning' }),
  fc.record({ type: fc.constant('tool-call' as const), id: fc.string(), name: fc.string() }),
);

const said = fc.tuple(block, fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 }), fc.nat(6), citedPlaces);

/** Blocks and work on our side in any order, with pieces of any size; the pieces of a call make an object, or are cut off. */
const streams = fc
  .tuple(
    fc.array(fc.oneof({ arbitrary: said, weight: 2 }, serverWork), { maxLength: 6 }),
    fc.constantFrom<FinishReason>('stop', 'length', 'tool-calls'),
    fc.option(fc.string(), { nil: undefined }),
    fc.nat(9),
  )
  .map(([parts, reason, stop, cachedTokens]): GenerationEvent[] => [
    { type: 'start', inputTokens: 9, cachedTokens },
    ...parts.flatMap((part, index): GenerationEvent[] => {
      if (!Array.isArray(part)) return workEvents(part, { choice: 0, index });
      const [each, texts, cut, places] = part;
      const json = JSON.stringify({ a: texts });
      const pieces = each.type === 'tool-call' ? [json.slice(0, cut), json.slice(cut)] : texts;
      return [
        { type: 'block-start', choice: 0, index, block: each },
        ...(each.type === 'text'
          ? citedDeltas(pieces, places, { choice: 0, index })
          : pieces.map((text): GenerationEvent => ({ type: 'block-delta', choice: 0, index, text }))),
        { type: 'block-end', choice: 0, index },
      ];
    }),
    { type: 'choice-end', choice: 0, reason, ...(stop === undefined ? {} : { stop }) },
    { type: 'end', usage: { promptTokens: 9, cachedTokens, completionTokens: 5 } },
  ]);

function bytesOf(batches: readonly (readonly GenerationEvent[])[]): string {
  const encoder = messageStream(head);
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

interface WireBlock {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  input?: unknown;
  citations?: unknown[];
}

interface WireEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: { readonly content: WireBlock[]; readonly usage: object };
  readonly content_block?: WireBlock;
  readonly delta?: Readonly<Record<string, string | null>> & {
    readonly citation?: unknown;
    readonly container?: unknown;
  };
  readonly usage?: object;
}

/**
 * The order in which the clients of this interface take events, and what they add up to:
 * message_start (content_block_start content_block_delta* content_block_stop)* message_delta message_stop, and pings
 * anywhere behind the start.
 */
function accumulate(bytes: string): object {
  const frames = createSseParser({ sizeMax: 1_000_000 }).push(bytes);
  const events = frames.map(({ data }) => JSON.parse(data) as WireEvent);
  let message: { content: WireBlock[] } & Record<string, unknown> = { content: [] };
  let open: { block: WireBlock; json: string; deltas: number } | undefined;
  let state: 'before' | 'in' | 'told' | 'over' = 'before';
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
        state = 'in';
        break;
      case 'content_block_start':
        assert.ok(state === 'in' && !open && event.content_block);
        assert.equal(event.index, message.content.length, 'indexes are dense');
        open = { block: event.content_block, json: '', deltas: 0 };
        break;
      case 'content_block_delta': {
        assert.ok(state === 'in' && open && event.delta);
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
        if (open.block.type === 'server_tool_use') assert.equal(open.deltas, 1, 'an input is told at once');
        if (open.block.type.endsWith('_result')) assert.equal(open.deltas, 0, 'a result is told whole');
        if (open.block.type.endsWith('tool_use')) open.block.input = JSON.parse(open.json === '' ? '{}' : open.json);
        message.content.push(open.block);
        open = undefined;
        break;
      case 'message_delta':
        assert.ok(state === 'in' && !open);
        message = { ...message, ...event.delta, usage: event.usage };
        state = 'told';
        break;
      case 'message_stop':
        assert.equal(state, 'told');
        state = 'over';
        break;
      default:
        assert.fail(`an event of type ${event.type}`);
    }
  }
  assert.equal(state, 'over');
  return message;
}

test('events come in the order that clients take, and add up to the unstreamed answer', async () => {
  await fc.assert(
    fc.asyncProperty(streams, async (events) => {
      async function* batches(): AsyncGenerator<readonly GenerationEvent[]> {
        yield events;
      }
      const whole = JSON.parse(JSON.stringify(encode(head, await collect(batches())))) as object;
      assert.deepEqual(accumulate(bytesOf([events])), whole);
    }),
  );
});

test('the bytes do not depend on how the events are cut', () => {
  fc.assert(
    fc.property(streams, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (events, sizes) => {
      const batches: GenerationEvent[][] = [];
      for (let at = 0, turn = 0; at < events.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        batches.push(events.slice(at, at + size));
        at += size;
      }
      assert.equal(bytesOf(batches), bytesOf([events]));
    }),
  );
});

test('silence is filled with a ping that changes nothing', () => {
  const encoder = messageStream(head);
  assert.equal(encoder.keepAlive(), 'event: ping\ndata: {"type":"ping"}\n\n');
});
