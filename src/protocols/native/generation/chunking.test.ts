import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Block, GenerationEvent, TokenLogprob } from '../../../core/event.ts';
import { collect } from '../../../generation/collect.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { serverWork, workEvents } from '../../fields/__fixtures__/server-work.ts';
import { batchesOf } from './__fixtures__/golden-cases.ts';
import { encode } from './encode.ts';
import type { AnswerForm } from './form.ts';
import { generationStream } from './stream.ts';

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

/** One choice's events in order: blocks one after another, each bracketed. */
const choiceEvents = (choice: number): fc.Arbitrary<GenerationEvent[]> =>
  fc
    .tuple(
      fc.array(fc.oneof({ arbitrary: fc.tuple(blocks, fc.array(delta, { maxLength: 4 })), weight: 3 }, serverWork), {
        maxLength: 4,
      }),
      fc.constantFrom('stop', 'length', 'tool-calls'),
    )
    .map(([all, reason]) => [
      ...all.flatMap((part, index): GenerationEvent[] => {
        if (!Array.isArray(part)) return workEvents(part, { choice, index });
        const [block, deltas] = part;
        return [
          { type: 'block-start', choice, index, block },
          ...deltas.map(({ logprobs: told, ...said }): GenerationEvent => ({
            type: 'block-delta',
            choice,
            index,
            ...said,
            ...(block.type === 'text' ? { logprobs: told } : {}),
          })),
          { type: 'block-end', choice, index },
        ];
      }),
      { type: 'choice-end', choice, reason },
    ]);

const tokensOf = (events: readonly GenerationEvent[]): number =>
  events.reduce((sum, event) => sum + (event.type === 'block-delta' ? (event.tokens ?? 0) : 0), 0);

/** Choices interleaved by `order`; the account at the end may know of tokens that nobody was told of. */
const streams = fc.tuple(fc.nat(3), fc.array(fc.nat(3), { maxLength: 60 }), fc.nat(5)).chain(([more, order, untold]) =>
  fc.tuple(...Array.from({ length: more + 1 }, (_, choice) => choiceEvents(choice))).map((choices) => {
    const merged: GenerationEvent[] = [{ type: 'start', inputTokens: 3, cachedTokens: 0 }];
    const rest = choices.map((events) => [...events]);
    for (const pick of order) merged.push(...(rest[pick % rest.length]?.splice(0, 1) ?? []));
    merged.push(...rest.flat());
    const completionTokens = tokensOf(merged) + untold;
    merged.push({ type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens } });
    return { events: merged, choices: choices.length };
  }),
);

const formWith = (choices: number, isIncremental: boolean, sources: AnswerForm['sources'] = 'none'): AnswerForm => ({
  type: 'message',
  isIncremental,
  hasThought: false,
  hasLogprobs: true,
  sources,
  choices,
});

function bytesOf(form: AnswerForm, batches: readonly (readonly GenerationEvent[])[]): string {
  const encoder = generationStream(form, 'r');
  return encoder.open() + batches.map((batch) => encoder.push(batch)).join('') + encoder.close();
}

const bodiesOf = (form: AnswerForm, batches: readonly (readonly GenerationEvent[])[]): Body[] =>
  createSseParser({ sizeMax: 1_000_000 })
    .push(bytesOf(form, batches))
    .map(({ data }) => JSON.parse(data) as Body);

function cut(events: readonly GenerationEvent[], sizes: readonly number[]): GenerationEvent[][] {
  const batches: GenerationEvent[][] = [];
  for (let at = 0, turn = 0; at < events.length; turn++) {
    const size = (sizes[turn % sizes.length] ?? 0) + 1;
    batches.push(events.slice(at, at + size));
    at += size;
  }
  return batches;
}

const sourcesTold = fc.constantFrom<AnswerForm['sources'][]>('none', 'beside', 'before');

const sizes = fc.array(fc.nat(7), { minLength: 1 });

const choicesIn = (bodies: readonly Body[], index: number): Choice[] =>
  bodies.flatMap(({ output }) => output.choices).filter((choice) => (choice.index ?? 0) === index);

async function unstreamed(form: AnswerForm, events: readonly GenerationEvent[]): Promise<Body> {
  return JSON.parse(JSON.stringify(encode(await collect(batchesOf(events)), form, 'r'))) as Body;
}

test('the bytes of an incremental stream do not depend on how the events are cut', () => {
  fc.assert(
    fc.property(streams, sizes, sourcesTold, ({ events, choices }, each, sources) => {
      const form = formWith(choices, true, sources);
      assert.equal(bytesOf(form, cut(events, each)), bytesOf(form, [events]));
    }),
  );
});

test('a cumulative stream ends with the unstreamed answer, and what it says only grows, however it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(streams, sizes, async ({ events, choices }, each) => {
      const form = formWith(choices, false);
      const bodies = bodiesOf(form, cut(events, each));
      const answer = await unstreamed(form, events);
      for (const [index, whole] of answer.output.choices.entries()) {
        const mine = choicesIn(bodies, index);
        assert.deepEqual(mine.at(-1), whole);
        for (const [at, { message, finish_reason: reason }] of mine.entries()) {
          assert.equal(reason === 'null', at < mine.length - 1, 'a reason is in the last event only');
          assert.ok(whole.message.content.startsWith(message.content));
          assert.ok(message.content.startsWith(mine[at - 1]?.message.content ?? ''));
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('adding up an incremental stream gives the unstreamed answer', async () => {
  await fc.assert(
    fc.asyncProperty(streams, async ({ events, choices }) => {
      const form = formWith(choices, true);
      const bodies = bodiesOf(form, [events]);
      const answer = await unstreamed(form, events);
      assert.deepEqual(
        answer.output.choices.map((_, index) => addUp(choicesIn(bodies, index))),
        answer.output.choices,
      );
    }),
    { numRuns: 60 },
  );
});

test('every event counts; the counts only grow, and the last ones of the choices add up to the whole account', async () => {
  await fc.assert(
    fc.asyncProperty(streams, fc.boolean(), sizes, async ({ events, choices }, isIncremental, each) => {
      const form = formWith(choices, isIncremental);
      const bodies = bodiesOf(form, cut(events, each));
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
      assert.equal(sum, (await unstreamed(form, events)).usage.output_tokens);
    }),
    { numRuns: 60 },
  );
});

test('what was found and run is told once, or so far, and at the end as in the unstreamed answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      streams,
      sizes,
      fc.boolean(),
      sourcesTold,
      async ({ events, choices }, each, isIncremental, sources) => {
        const bodies = bodiesOf(formWith(choices, isIncremental, sources), cut(events, each));
        const { output } = await unstreamed(formWith(choices, isIncremental, sources), events);
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
            const alone = bodies.filter(({ usage }) => Object.keys(usage).length === 0);
            const rest = bodies.filter((body) => !alone.includes(body));
            assert.ok(rest.every((body) => body.output.search_info?.search_results.length === 0));
            assert.deepEqual(
              alone.at(-1)?.output.search_info?.search_results ?? [],
              output.search_info?.search_results,
              'the last of these events has all that was found',
            );
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

const byCode = (a: object, b: object): number => JSON.stringify(a).localeCompare(JSON.stringify(b));

/** As clients of the platform do: texts and arguments are put behind each other, ids that are not empty replace. */
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
