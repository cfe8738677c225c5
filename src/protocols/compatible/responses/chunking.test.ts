import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { splitIntoBatches } from '../../fields/__fixtures__/split-into-batches.ts';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import type { Block, GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { createSseParser } from '../../../lib/sse.ts';
import {
  createCitedDeltas,
  citationPositions,
  serverToolCallSamples,
  createServerToolEvents,
} from '../../fields/__fixtures__/test-server-tool-calls.ts';
import { runTestTurn } from './__fixtures__/test-turn.ts';
import type { ResponseEvent } from './response-event.ts';
import { createResponseStreamEncoder } from './stream.ts';

const head = { id: 'resp_0', created: 1, model: 'm', requestFields: { tools: [] } };

const tokens: fc.Arbitrary<TokenLogprob> = fc.record({
  token: fc.string({ unit: 'grapheme', maxLength: 3 }),
  bytes: fc.array(fc.nat(255), { maxLength: 4 }),
  logprob: fc.oneof(fc.constant(undefined), fc.double({ min: -120, max: 0, noNaN: true })),
  top: fc.constant([]),
});

const blocks: fc.Arbitrary<Block> = fc.oneof(
  fc.constant<Block>({ type: 'text' }),
  fc.constant<Block>({ type: 'reasoning' }),
  fc.record({ type: fc.constant('tool-call' as const), id: fc.string(), name: fc.string() }),
);

const pieces = fc.tuple(
  fc.string({ unit: 'grapheme' }),
  fc.option(fc.array(tokens, { maxLength: 2 }), { nil: undefined }),
);

const streams = fc
  .tuple(
    fc.array(
      fc.oneof(
        { arbitrary: fc.tuple(blocks, fc.array(pieces, { maxLength: 4 }), citationPositions), weight: 2 },
        serverToolCallSamples,
      ),
      { maxLength: 5 },
    ),
    fc.constantFrom('stop', 'length', 'tool-calls'),
  )
  .map(([all, reason]): GenerationEvent[] => [
    { type: 'start', inputTokens: 3, cachedTokens: 0 },
    ...all.flatMap((part, index): GenerationEvent[] => {
      const at = { choice: 0, index };
      if (!Array.isArray(part)) return createServerToolEvents(part, at);
      const [block, deltas, positions] = part;
      const isText = block.type === 'text';
      const texts = deltas.map(([text]) => text);
      return [
        { type: 'block-start', ...at, block },
        ...createCitedDeltas(texts, isText ? positions : [], at).map((event, piece): GenerationEvent => {
          const logprobs = deltas[piece]?.[1];
          return logprobs && isText && event.type === 'block-delta' ? { ...event, logprobs } : event;
        }),
        { type: 'block-end', ...at },
      ];
    }),
    { type: 'choice-end', choice: 0, reason },
    { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 5 } },
  ]);

function encodeAll(batches: readonly (readonly ResponseEvent[])[]): string {
  const encoder = createResponseStreamEncoder(head);
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

test('encodes the same bytes however the events are split into batches', async () => {
  await fc.assert(
    fc.asyncProperty(streams, fc.array(fc.nat(7), { minLength: 1 }), async (generated, sizes) => {
      const { events } = await runTestTurn(generated, head);
      assert.equal(encodeAll(splitIntoBatches(events, sizes)), encodeAll([events]));
    }),
    { numRuns: scalePropertyRuns(60) },
  );
});

type Fields = Record<string, unknown>;
interface StreamedEvent extends Fields {
  readonly type: string;
  readonly sequence_number: number;
  readonly item_id?: string;
  readonly output_index?: number;
}

test('the accumulated events equal the unstreamed response and are numbered without gaps', async () => {
  await fc.assert(
    fc.asyncProperty(streams, async (generated) => {
      const { events, response } = await runTestTurn(generated, head);
      const frames = createSseParser({ sizeMax: 1_000_000 }).push(encodeAll([events]));
      const all = frames.map(({ data }) => JSON.parse(data) as StreamedEvent);
      assert.deepEqual(
        all.map((each) => each.sequence_number),
        all.map((_, at) => at),
      );
      assert.deepEqual(
        frames.map(({ id, event }) => [id, event]),
        all.map((each, at) => [String(at + 1), each.type]),
      );
      assert.deepEqual(
        all.slice(0, 2).map(({ type }) => type),
        ['response.created', 'response.in_progress'],
      );
      const last = all.at(-1);
      assert.equal(last?.type, `response.${response?.status}`);
      const plain = JSON.parse(JSON.stringify(response)) as { output: Fields[] };
      assert.deepEqual(last?.['response'], plain);
      assert.deepEqual(accumulate(all), plain.output);
    }),
    { numRuns: scalePropertyRuns(300) },
  );
});

/** Builds the output from delta events, and checks that the closing events agree. */
function accumulate(all: readonly StreamedEvent[]): Fields[] {
  const items: Fields[] = [];
  const texts: string[] = [];
  const logprobs: unknown[][] = [];
  const annotations: unknown[][] = [];
  for (const event of all) {
    const at = event.output_index ?? -1;
    const item = items[at];
    if (event.type === 'response.output_item.added') {
      assert.equal(at, items.length, 'items are added in their order');
      items.push(event['item'] as Fields);
      texts.push('');
      logprobs.push([]);
      annotations.push([]);
      continue;
    }
    if (at < 0) continue;
    assert.ok(item, 'an item comes before what is said of it');
    if (event.item_id !== undefined) assert.equal(event.item_id, item['id']);
    if (event.type.endsWith('.delta')) {
      texts[at] += String(event['delta']);
      logprobs[at]?.push(...((event['logprobs'] as unknown[] | undefined) ?? []));
    } else if (event.type.endsWith('annotation.added')) {
      assert.equal(event['annotation_index'], annotations[at]?.length);
      annotations[at]?.push(event['annotation']);
    } else if (event.type.endsWith('_code.done')) assert.equal(event['code'], texts[at]);
    else if (SERVER_TOOL_STATE_EVENT.test(event.type)) assert.equal(item['status'], 'in_progress');
    else if (event.type.endsWith('_text.done')) assert.equal(event['text'], texts[at]);
    else if (event.type.endsWith('_arguments.done')) assert.equal(event['arguments'], texts[at]);
    else if (event.type === 'response.output_item.done') {
      const doneItem = event['item'] as Fields;
      const { status } = doneItem;
      const done = SERVER_TOOL_TYPE.test(String(item['type']))
        ? {
            ...doneItem,
            type: item['type'],
            id: item['id'],
            ...(item['code'] === undefined ? {} : { code: texts[at] }),
          }
        : completeItem(item, {
            text: texts[at] ?? '',
            logprobs: logprobs[at] ?? [],
            annotations: annotations[at] ?? [],
          });
      items[at] = status === undefined ? done : { ...done, status };
      assert.deepEqual(event['item'], items[at]);
    }
  }
  return items;
}

/** Server tool items; their results come with the closing event. */
const SERVER_TOOL_TYPE = /^(?:web_search|web_extractor|code_interpreter)_call$/;
const SERVER_TOOL_STATE_EVENT = /_call\.(?:in_progress|searching|interpreting|completed)$/;

interface AccumulatedContent {
  readonly text: string;
  readonly logprobs: readonly unknown[];
  readonly annotations: readonly unknown[];
}

function completeItem(item: Fields, { text, logprobs, annotations }: AccumulatedContent): Fields {
  if (item['type'] === 'reasoning') return { ...item, summary: [{ type: 'summary_text', text }] };
  if (item['type'] === 'message') return { ...item, content: [{ type: 'output_text', text, annotations, logprobs }] };
  return { ...item, arguments: text };
}
