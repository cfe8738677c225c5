import type { RequestContext } from '../core/context.ts';
import type { GenerationEvent, Usage } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Generate, Generation } from './generation.ts';

/**
 * Several requests as one: their choices are numbered on from each other, their tokens added up.
 *
 * One begins when the one before it is over: an engine that has one place only could not hold them all. So what a later one
 * is refused for comes in mid-answer, and `ignored` is what the first one was not honoured in.
 */
export async function generateEach(
  generate: Generate,
  [first, ...others]: readonly [GenerationRequest, ...GenerationRequest[]],
  on: Parameters<Generate>[1],
  context: RequestContext,
): Promise<Generation> {
  if (others.length === 0) return await generate(first, on, context);
  const counted = withSums(context);
  const { batches, ignored } = await generate(first, on, counted);
  const rest = others.map((request) => () => generate(request, on, counted));
  return { batches: inTurn(batches, rest, first.choices), ignored };
}

type Batches = Generation['batches'];

/** By hand, as the runs themselves: `return` has to work at once, and before the first `next`. */
const inTurn = (first: Batches, rest: readonly (() => Promise<Generation>)[], choices: number): Batches => ({
  [Symbol.asyncIterator]() {
    let source = first[Symbol.asyncIterator]();
    let turn = 0;
    let isOver = false;
    let usage: Usage | undefined;

    const tell = (event: GenerationEvent): readonly GenerationEvent[] => {
      switch (event.type) {
        case 'start':
          return turn === 0 ? [event] : [];
        case 'end':
          usage = usage ? sumOf(usage, event.usage) : event.usage;
          return turn === rest.length ? [{ type: 'end', usage }] : [];
        case 'block-start':
        case 'block-delta':
        case 'block-end':
        case 'server-call':
        case 'server-result':
        case 'choice-end':
          return [{ ...event, choice: turn * choices + event.choice }];
      }
    };

    return {
      async next() {
        while (!isOver) {
          const step = await source.next();
          if (step.done !== true) {
            const told = step.value.flatMap(tell);
            if (told.length > 0) return { done: false, value: told };
            continue;
          }
          const start = rest[turn++];
          if (!start) break;
          source = (await start()).batches[Symbol.asyncIterator]();
          if (isOver) await source.return?.();
        }
        return { done: true, value: undefined };
      },
      async return() {
        isOver = true;
        await source.return?.();
        return { done: true, value: undefined };
      },
    };
  },
});

const sumOf = (one: Usage, other: Usage): Usage => ({
  ...other,
  promptTokens: one.promptTokens + other.promptTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  completionTokens: one.completionTokens + other.completionTokens,
});

/** One line of the log tells of all of them. */
function withSums(context: RequestContext): RequestContext {
  const sums = new Map<string, number>();
  const sumUp = (name: string, value: string | number | boolean | undefined): typeof value => {
    if (typeof value !== 'number') return value;
    const sum = (sums.get(name) ?? 0) + value;
    sums.set(name, sum);
    return sum;
  };
  return {
    ...context,
    log: {
      add: (facts) =>
        context.log.add(Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, sumUp(name, value)]))),
      warn: (message, facts) => context.log.warn(message, facts),
    },
  };
}
