import type { ModelInterface } from '../../catalogue/model.ts';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { GenerationEvent, Usage } from '../../core/event.ts';
import { ANSWER_TOOLS_MS_MAX } from '../../core/limits.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { SearchStrategy, ServerCall, ServerCallResult } from '../../core/server-tools.ts';
import type { Clock } from '../../lib/clock.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { Generate, Generation } from '../generation.ts';
import { summedLog } from '../translation/summed-log.ts';
import { sumOfUsages } from './sum-of-usages.ts';

export type Batch = readonly GenerationEvent[];

/** One request while its tools work and its model answers: what all of its runs share. */
export interface Turn {
  readonly request: GenerationRequest;
  readonly context: RequestContext;
  /** Ms since the epoch. */
  now(): number;
  /** A run of the model, cancelled with the request. What it is asked has no wish for tools of ours. */
  run(request: GenerationRequest): Promise<Generation>;
  /** Of a run that is over. */
  add(usage: Usage): void;
  usage(): Usage;
  /** The place of the next block of a choice. */
  place(choice: number): number;
  /** What a call is told by, and its result in the same place. */
  begin(call: ServerCall): { readonly events: Batch; end(result: ServerCallResult): Batch };
  count(what: 'searches' | 'pages' | 'programs', strategy?: SearchStrategy): void;
  /** The first batch of the stream: `start` before it, where nothing was told yet. @param inputTokens Of the run that speaks first. */
  opened(batch: Batch, inputTokens?: number): Batch;
  hasBegun(): boolean;
  /**
   * Work of a tool, given up when the request is, when it takes too long, or when the time for tools is over.
   * @throws what the work throws; ServiceError `timeout`.
   */
  limited<Result>(ms: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  hasTime(): boolean;
  /** Called when the request is over, however that comes. */
  onOver(release: () => void): void;
  /** Ends all that is on. */
  abort(): void;
  /** All is done. */
  over(): void;
}

export interface TurnNeeds {
  readonly request: GenerationRequest;
  readonly on: { readonly interface: ModelInterface };
  readonly context: RequestContext;
  readonly generate: Generate;
  readonly clock: Clock;
  readonly newId: () => string;
}

export function createTurn({ request, on, context, generate, clock, newId }: TurnNeeds): Turn {
  const stop = linkedAbort(context.signal);
  const own: RequestContext = { ...context, signal: stop.signal, log: summedLog(context.log) };
  const until = clock.monotonic() + ANSWER_TOOLS_MS_MAX;
  const places: number[] = [];
  const uses = { searches: 0, pages: 0, programs: 0 };
  let usage: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  let strategy: SearchStrategy | undefined;
  let hasBegun = false;
  let isOver = false;
  const releases: (() => void)[] = [];

  const place = (choice: number): number => {
    const index = places[choice] ?? 0;
    places[choice] = index + 1;
    return index;
  };

  const over = (): void => {
    if (isOver) return;
    isOver = true;
    stop.signal.removeEventListener('abort', over);
    stop.unlink();
    for (const release of releases) release();
    if (uses.searches + uses.pages + uses.programs > 0) context.log.add(uses);
  };
  // Also where nobody reads.
  stop.signal.addEventListener('abort', over, { once: true });
  if (stop.signal.aborted) over();

  return {
    request,
    context: own,
    now: () => clock.now(),
    run: (asked) => generate(asked, on, own),
    add: (spent) => {
      usage = sumOfUsages(usage, spent);
    },
    usage: () => {
      if (uses.searches + uses.pages + uses.programs === 0) return usage;
      return { ...usage, serverTools: { ...uses, ...(strategy ? { strategy } : {}) } };
    },
    place,
    begin(call) {
      const at = { choice: 0, index: place(0), id: newId() };
      return {
        events: [{ type: 'server-call', ...at, call }],
        end: (result) => [{ type: 'server-result', ...at, result }],
      };
    },
    count(what, by) {
      uses[what]++;
      strategy = by ?? strategy;
    },
    opened(batch, inputTokens = 0) {
      if (hasBegun) return batch;
      hasBegun = true;
      const { promptTokens, cachedTokens } = usage;
      return [{ type: 'start', inputTokens: promptTokens + inputTokens, cachedTokens }, ...batch];
    },
    hasBegun: () => hasBegun,
    async limited(ms, work) {
      const left = Math.min(ms, until - clock.monotonic());
      if (left <= 0) throw tooLong();
      const { promise: gone, reject } = Promise.withResolvers<never>();
      const limit = linkedAbort(stop.signal);
      const onAbort = (): void => reject(limit.signal.reason);
      limit.signal.addEventListener('abort', onAbort, { once: true });
      if (limit.signal.aborted) onAbort();
      const timer = setTimeout(() => limit.abort(tooLong()), left);
      try {
        // Not even a tool that hears no signal holds the answer up.
        return await Promise.race([work(limit.signal), gone]);
      } finally {
        clearTimeout(timer);
        limit.unlink();
      }
    },
    hasTime: () => clock.monotonic() < until,
    onOver(release) {
      if (isOver) release();
      else releases.push(release);
    },
    abort: () => stop.abort(GONE),
    over,
  };
}

const GONE = new ServiceError('cancelled', 'The request was cancelled.');

const tooLong = (): ServiceError => new ServiceError('timeout', 'The tool took too long.');
