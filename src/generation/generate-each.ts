import type { RequestContext } from '../core/context.ts';
import { addTokenCounts, type GenerationEvent, type Usage } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Generate, Generation } from './generation.ts';

/**
 * Runs several requests one after another as one generation: choices are numbered consecutively, tokens are summed.
 *
 * Each request starts when the one before it has finished, because an engine may have one sequence only. So a later
 * request may be rejected in the middle of the answer, and `ignored` comes from the first request.
 */
export async function generateEach(
  generate: Generate,
  [first, ...others]: readonly [GenerationRequest, ...GenerationRequest[]],
  on: Parameters<Generate>[1],
  context: RequestContext,
  addUsage: AddUsage = addAllTokens,
): Promise<Generation> {
  if (others.length === 0) return await generate(first, on, context);
  const counted = withSummedLog(context);
  const { batches, ignored } = await generate(first, on, counted);
  const rest = others.map((request) => () => generate(request, on, counted));
  return { batches: runSequentially(batches, rest, { choices: first.choices, addUsage }), ignored };
}

/** Adds the usage of the next request to that of the ones before. */
type AddUsage = (total: Usage, next: Usage) => Usage;

const addAllTokens: AddUsage = (total, next) => ({ ...next, ...addTokenCounts(total, next) });

type Batches = Generation['batches'];

/** A hand-written iterator, as in run-events.ts: `return` must work at once, also before the first `next`. */
const runSequentially = (
  first: Batches,
  rest: readonly (() => Promise<Generation>)[],
  { choices, addUsage }: { readonly choices: number; readonly addUsage: AddUsage },
): Batches => ({
  [Symbol.asyncIterator]() {
    let source = first[Symbol.asyncIterator]();
    let requestIndex = 0;
    let isClosed = false;
    let usage: Usage | undefined;

    const mapEvent = (event: GenerationEvent): readonly GenerationEvent[] => {
      switch (event.type) {
        case 'start':
          return requestIndex === 0 ? [event] : [];
        case 'end':
          usage = usage ? addUsage(usage, event.usage) : event.usage;
          return requestIndex === rest.length ? [{ type: 'end', usage }] : [];
        case 'prompt':
        case 'block-start':
        case 'block-delta':
        case 'block-end':
        case 'server-call':
        case 'server-result':
        case 'choice-end':
          return [{ ...event, choice: requestIndex * choices + event.choice }];
      }
    };

    return {
      async next() {
        while (!isClosed) {
          const step = await source.next();
          if (step.done !== true) {
            const events = step.value.flatMap(mapEvent);
            if (events.length > 0) return { done: false, value: events };
            continue;
          }
          const start = rest[requestIndex++];
          if (!start) break;
          source = (await start()).batches[Symbol.asyncIterator]();
          if (isClosed) await source.return?.();
        }
        return { done: true, value: undefined };
      },
      async return() {
        isClosed = true;
        await source.return?.();
        return { done: true, value: undefined };
      },
    };
  },
});

/** Sums numeric log fields, so that one log line describes all requests. */
function withSummedLog(context: RequestContext): RequestContext {
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
      add: (fields) =>
        context.log.add(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, sumUp(name, value)]))),
      warn: (message, fields) => context.log.warn(message, fields),
    },
  };
}
