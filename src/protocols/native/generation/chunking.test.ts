import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import type { Block, GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { serverToolCallSamples, createServerToolEvents } from '../../fields/__fixtures__/test-server-tool-calls.ts';
import { toBatches } from './__fixtures__/golden-cases.ts';
import { encodeGeneration } from './encode.ts';
import type { AnswerFormat } from './answer-format.ts';
import { createGenerationStreamEncoder } from './stream.ts';

interface Choice {
  readonly finish_reason: string;
  readonly index?: number;
  readonly message: {
    readonly role: string;
    readonly content: string;
    readonly reasoning_content?: string;
    readonly tool_calls?: readonly Call[];
  };
  readonly logprobs?: { readonly content: readonly object[] };
}

interface Call {
  readonly index: number;
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

interface Body {
  readonly output: {
    readonly choices: readonly Choice[];
    readonly search_info?: { readonly search_results: readonly object[]; readonly extra_tool_info?: readonly object[] };
    readonly tool_info?: readonly object[];
  };
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly total_tokens: number };
}

const blocks: fc.Arbitrary<Block> = fc.oneof(
  fc.constant<Block>({ type: 'text' }),
  fc.constant<Block>({ type: 'reasoning' }),
  fc.record({
    type: fc.constant('tool-call' as const),
    id: fc.string({ minLength: 1 }),
    name: fc.string({ minLength: 1 }),
  }),
);

const logprobs: fc.Arbitrary<TokenLogprob[]> = fc.array(
  fc.record({
    token: fc.string({ unit: 'grapheme', maxLength: 2 }),
    bytes: fc.array(fc.nat(255), { maxLength: 3 }),
    logprob: fc.constantFrom(undefined, -1, -0.5),
    top: fc.constant([]),
  }),
  { maxLength: 2 },
);

const delta = fc.record({ text: fc.string({ unit: 'grapheme' }), tokens: fc.nat(3), logprobs });

/** Events of one choice in order: blocks one after another, each with start and end. */
const choiceEvents = (choice: number): fc.Arbitrary<GenerationEvent[]> =>
  fc
    .tuple(
      fc.array(
        fc.oneof({ arbitrary: fc.tuple(blocks, fc.array(delta, { maxLength: 4 })), weight: 3 }, serverToolCallSamples),
        {
          maxLength: 4,
        },
      ),
      fc.constantFrom('stop', 'length', 'tool-calls'),
    )
    .map(([all, reason]) => [
      ...all.flatMap((part, index): GenerationEvent[] => {
        if (!Array.isArray(part)) return createServerToolEvents(part, { choice, index });
        const [block, deltas] = part;
        return [
          { type: 'block-start', choice, index, block },
          ...deltas.map(({ logprobs: deltaLogprobs, ...textAndTokens }): GenerationEvent => ({
            type: 'block-delta',
            choice,
            index,
            ...textAndTokens,
            ...(block.type === 'text' ? { logprobs: deltaLogprobs } : {}),
          })),
          { type: 'block-end', choice, index },
        ];
      }),
      { type: 'choice-end', choice, reason },
    ]);

const countTokens = (events: readonly GenerationEvent[]): number =>
  events.reduce((sum, event) => sum + (event.type === 'block-delta' ? (event.tokens ?? 0) : 0), 0);

/** Interleaves the choices by `order`. The usage at the end may include tokens that no event reported. */
const streams = fc
  .tuple(fc.nat(3), fc.array(fc.nat(3), { maxLength: 60 }), fc.nat(5))
  .chain(([more, order, unreported]) =>
    fc.tuple(...Array.from({ length: more + 1 }, (_, choice) => choiceEvents(choice))).map((choices) => {
      const merged: GenerationEvent[] = [{ type: 'start', inputTokens: 3, cachedTokens: 0 }];
      const rest = choices.map((events) => [...events]);
      for (const pick of order) merged.push(...(rest[pick % rest.length]?.splice(0, 1) ?? []));
      merged.push(...rest.flat());
      const completionTokens = countTokens(merged) + unreported;
      merged.push({ type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens } });
      return { events: merged, choices: choices.length };
    }),
  );

const createFormat = (
  choices: number,
  isIncremental: boolean,
  sources: AnswerFormat['sources'] = 'none',
): AnswerFormat => ({
  type: 'message',
  isIncremental,
  hasReasoning: false,
  hasLogprobs: true,
  sources,
  choiceCount: choices,
});

function streamToBytes(format: AnswerFormat, batches: readonly (readonly GenerationEvent[])[]): string {
  const encoder = createGenerationStreamEncoder(format, 'r');
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

const streamToBodies = (format: AnswerFormat, batches: readonly (readonly GenerationEvent[])[]): Body[] =>
  createSseParser({ sizeMax: 1_000_000 })
    .push(streamToBytes(format, batches))
    .map(({ data }) => JSON.parse(data) as Body);

function cutIntoBatches(events: readonly GenerationEvent[], sizes: readonly number[]): GenerationEvent[][] {
  const batches: GenerationEvent[][] = [];
  for (let at = 0, turn = 0; at < events.length; turn++) {
    const size = (sizes[turn % sizes.length] ?? 0) + 1;
    batches.push(events.slice(at, at + size));
    at += size;
  }
  return batches;
}

const sourcePositions = fc.constantFrom<AnswerFormat['sources'][]>('none', 'beside', 'before');

const sizes = fc.array(fc.nat(7), { minLength: 1 });

const filterChoices = (bodies: readonly Body[], index: number): Choice[] =>
  bodies.flatMap(({ output }) => output.choices).filter((choice) => (choice.index ?? 0) === index);

async function encodeUnstreamed(format: AnswerFormat, events: readonly GenerationEvent[]): Promise<Body> {
  return JSON.parse(JSON.stringify(encodeGeneration(await collectResult(toBatches(events)), format, 'r'))) as Body;
}

test('encodes an incremental stream to the same bytes, however its events are batched', () => {
  fc.assert(
    fc.property(streams, sizes, sourcePositions, ({ events, choices }, each, sources) => {
      const format = createFormat(choices, true, sources);
      assert.equal(streamToBytes(format, cutIntoBatches(events, each)), streamToBytes(format, [events]));
    }),
  );
});

test('ends a cumulative stream with the unstreamed answer, and never shortens it, however its events are batched', async () => {
  await fc.assert(
    fc.asyncProperty(streams, sizes, async ({ events, choices }, each) => {
      const format = createFormat(choices, false);
      const bodies = streamToBodies(format, cutIntoBatches(events, each));
      const answer = await encodeUnstreamed(format, events);
      for (const [index, whole] of answer.output.choices.entries()) {
        const choiceEvents = filterChoices(bodies, index);
        assert.deepEqual(choiceEvents.at(-1), whole);
        for (const [at, { message, finish_reason: reason }] of choiceEvents.entries()) {
          assert.equal(reason === 'null', at < choiceEvents.length - 1, 'the last event alone has a finish reason');
          assert.ok(whole.message.content.startsWith(message.content));
          assert.ok(message.content.startsWith(choiceEvents[at - 1]?.message.content ?? ''));
        }
      }
    }),
    { numRuns: scalePropertyRuns(60) },
  );
});

test('encodes an incremental stream whose pieces add up to the unstreamed answer', async () => {
  await fc.assert(
    fc.asyncProperty(streams, async ({ events, choices }) => {
      const format = createFormat(choices, true);
      const bodies = streamToBodies(format, [events]);
      const answer = await encodeUnstreamed(format, events);
      assert.deepEqual(
        answer.output.choices.map((_, index) => addUp(filterChoices(bodies, index))),
        answer.output.choices,
      );
    }),
    { numRuns: scalePropertyRuns(60) },
  );
});

test('counts tokens in every event, never decreasing, with last counts that add up to the total usage', async () => {
  await fc.assert(
    fc.asyncProperty(streams, fc.boolean(), sizes, async ({ events, choices }, isIncremental, each) => {
      const format = createFormat(choices, isIncremental);
      const bodies = streamToBodies(format, cutIntoBatches(events, each));
      let sum = 0;
      for (let index = 0; index < choices; index++) {
        const counts = bodies
          .filter(({ output }) => (output.choices[0]?.index ?? 0) === index)
          .map(({ usage }) => {
            assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
            return usage.output_tokens;
          });
        assert.deepEqual(
          counts,
          counts.toSorted((a, b) => a - b),
        );
        sum += counts.at(-1) ?? 0;
      }
      assert.equal(sum, (await encodeUnstreamed(format, events)).usage.output_tokens);
    }),
    { numRuns: scalePropertyRuns(60) },
  );
});

test('reports search results and programs once or cumulatively, and at the end as in the unstreamed answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      streams,
      sizes,
      fc.boolean(),
      sourcePositions,
      async ({ events, choices }, each, isIncremental, sources) => {
        const bodies = streamToBodies(createFormat(choices, isIncremental, sources), cutIntoBatches(events, each));
        const { output } = await encodeUnstreamed(createFormat(choices, isIncremental, sources), events);
        const infos = bodies.map((body) => body.output.search_info);
        const programs = (all: readonly Body[]) => all.flatMap((body) => body.output.tool_info ?? []);
        if (isIncremental)
          assert.deepEqual(programs(bodies).toSorted(byCode), [...(output.tool_info ?? [])].toSorted(byCode));
        switch (sources) {
          case 'none':
            assert.ok(infos.every((info) => info === undefined));
            return;
          case 'beside':
            assert.deepEqual(infos.at(-1), output.search_info);
            return;
          case 'before': {
            const prependedBodies = bodies.filter(({ usage }) => Object.keys(usage).length === 0);
            const otherBodies = bodies.filter((body) => !prependedBodies.includes(body));
            assert.ok(otherBodies.every((body) => body.output.search_info?.search_results.length === 0));
            assert.deepEqual(
              prependedBodies.at(-1)?.output.search_info?.search_results ?? [],
              output.search_info?.search_results,
              'the last of these events has all results',
            );
          }
        }
      },
    ),
    { numRuns: scalePropertyRuns(60) },
  );
});

const byCode = (a: object, b: object): number => JSON.stringify(a).localeCompare(JSON.stringify(b));

/** Adds events up as clients do: texts and arguments are concatenated, a non-empty id replaces the previous one. */
function addUp(events: readonly Choice[]): object {
  const calls: { index: number; id: string; type: string; function: { name: string; arguments: string } }[] = [];
  for (const call of events.flatMap(({ message }) => message.tool_calls ?? [])) {
    const known = calls[call.index];
    if (known) {
      known.function.arguments += call.function.arguments;
      known.function.name += call.function.name ?? '';
      known.id = call.id || known.id;
    } else {
      const { name = '', arguments: first } = call.function;
      calls[call.index] = { index: call.index, id: call.id, type: call.type, function: { name, arguments: first } };
    }
  }
  const last = events.at(-1);
  const hasThought = events.some(({ message }) => message.reasoning_content !== undefined);
  return {
    finish_reason: last?.finish_reason,
    ...(last?.index === undefined ? {} : { index: last.index }),
    message: {
      role: last?.message.role,
      content: events.map(({ message }) => message.content).join(''),
      ...(hasThought
        ? { reasoning_content: events.map(({ message }) => message.reasoning_content ?? '').join('') }
        : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
    logprobs: { content: events.flatMap((event) => event.logprobs?.content ?? []) },
  };
}
