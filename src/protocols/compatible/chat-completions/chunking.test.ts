import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { splitIntoBatches } from '../../fields/__fixtures__/split-into-batches.ts';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import type { Block, GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { serverToolCallSamples, createServerToolEvents } from '../../fields/__fixtures__/test-server-tool-calls.ts';
import { encodeChatCompletion } from './encode.ts';
import { createChatStreamEncoder } from './stream.ts';

const head = { requestId: 'r', created: 1, model: 'm' };

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

/** Creates the events of one choice: one block after the other, each with start and end. */
const choiceEvents = (choice: number): fc.Arbitrary<GenerationEvent[]> =>
  fc
    .tuple(
      fc.array(
        fc.oneof(
          {
            arbitrary: fc.tuple(
              blocks,
              fc.array(
                fc.tuple(
                  fc.string({ unit: 'grapheme' }),
                  fc.option(fc.array(tokens, { maxLength: 2 }), { nil: undefined }),
                ),
                { maxLength: 4 },
              ),
            ),
            weight: 3,
          },
          serverToolCallSamples,
        ),
        { maxLength: 4 },
      ),
      fc.constantFrom('stop', 'length', 'tool-calls'),
    )
    .map(([all, reason]) => [
      ...all.flatMap((part, index): GenerationEvent[] => {
        if (!Array.isArray(part)) return createServerToolEvents(part, { choice, index });
        const [block, deltas] = part;
        return [
          { type: 'block-start', choice, index, block },
          ...deltas.map(([text, logprobs]): GenerationEvent => ({
            type: 'block-delta',
            choice,
            index,
            text,
            ...(logprobs && block.type === 'text' ? { logprobs } : {}),
          })),
          { type: 'block-end', choice, index },
        ];
      }),
      { type: 'choice-end', choice, reason },
    ]);

/** Interleaves the events of several choices as `order` says; the events of each choice keep their order. */
const streams = fc.tuple(fc.nat(3), fc.array(fc.nat(3), { maxLength: 60 })).chain(([more, order]) =>
  fc.tuple(...Array.from({ length: more + 1 }, (_, choice) => choiceEvents(choice))).map((choices) => {
    const merged: GenerationEvent[] = [{ type: 'start', inputTokens: 3, cachedTokens: 0 }];
    const rest = choices.map((events) => [...events]);
    for (const pick of order) merged.push(...(rest[pick % rest.length]?.splice(0, 1) ?? []));
    merged.push(...rest.flat(), {
      type: 'end',
      usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 5 },
    });
    return merged;
  }),
);

function encodeAll(batches: readonly (readonly GenerationEvent[])[]): string {
  const encoder = createChatStreamEncoder(head, { includeUsage: true });
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

test('encodes the same bytes however the events are split into batches', () => {
  fc.assert(
    fc.property(streams, fc.array(fc.nat(7), { minLength: 1 }), (events, sizes) => {
      assert.equal(encodeAll(splitIntoBatches(events, sizes)), encodeAll([events]));
    }),
  );
});

interface Chunk {
  choices: {
    index: number;
    delta: {
      content: string | null;
      reasoning_content: string | null;
      role?: string;
      tool_calls: { index: number; id?: string; function: { name?: string; arguments: string } }[] | null;
    };
    logprobs: { content: object[] } | null;
    finish_reason: string | null;
  }[];
  usage: object | null;
}

test('the accumulated chunks equal the unstreamed response', async () => {
  await fc.assert(
    fc.asyncProperty(streams, async (events) => {
      async function* batches(): AsyncGenerator<readonly GenerationEvent[]> {
        yield events;
      }
      const answer = JSON.parse(JSON.stringify(encodeChatCompletion(head, await collectResult(batches())))) as {
        choices: { index: number }[];
        usage: object;
      };
      const frames = createSseParser({ sizeMax: 1_000_000 }).push(encodeAll([events]));
      assert.equal(frames.pop()?.data, '[DONE]');
      const chunks = frames.map(({ data }) => JSON.parse(data) as Chunk);
      assert.deepEqual(chunks.at(-1)?.usage, answer.usage);
      assert.deepEqual(accumulate(chunks), answer.choices);
    }),
    { numRuns: scalePropertyRuns(60) },
  );
});

function accumulate(chunks: readonly Chunk[]): object[] {
  const all: object[] = [];
  const indexes = [...new Set(chunks.flatMap(({ choices }) => choices.map(({ index }) => index)))];
  for (const index of indexes.toSorted((a, b) => a - b)) {
    const ofChoice = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
    const roles = ofChoice.filter(({ delta }) => 'role' in delta);
    assert.deepEqual(roles, ofChoice.slice(0, 1), 'the role is in the first chunk only');
    const deltas = ofChoice.map(({ delta }) => delta);
    const calls: { id: string; type: string; index: number; function: { name: string; arguments: string } }[] = [];
    for (const call of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
      const existing = calls[call.index];
      if (existing) existing.function.arguments += call.function.arguments;
      else {
        const { name = '', arguments: first } = call.function;
        calls[call.index] = {
          id: call.id ?? '',
          type: 'function',
          index: call.index,
          function: { name, arguments: first },
        };
      }
    }
    const hasThought = deltas.some((delta) => delta.reasoning_content !== null);
    const logprobs = ofChoice.flatMap((choice) => choice.logprobs?.content ?? []);
    all.push({
      message: {
        role: 'assistant',
        content: deltas.map(({ content }) => content ?? '').join(''),
        reasoning_content: hasThought ? deltas.map((delta) => delta.reasoning_content ?? '').join('') : null,
        refusal: null,
        audio: null,
        function_call: null,
        tool_calls: calls.length > 0 ? calls : null,
      },
      finish_reason: ofChoice.at(-1)?.finish_reason,
      index,
      logprobs: logprobs.length > 0 ? { content: logprobs } : null,
    });
  }
  return all;
}
