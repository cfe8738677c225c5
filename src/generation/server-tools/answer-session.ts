import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { GenerationEvent, Usage } from '../../core/event.ts';
import { ANSWER_TOOLS_MS_MAX } from './limits.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { SearchStrategy, ServerCall, ServerCallResult } from '../../core/server-tools.ts';
import type { Clock } from '../../lib/clock.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import type { Generate, Generation } from '../generation.ts';
import type { ModelTarget } from '../model-target.ts';
import { createSummingLog } from '../translation/summing-log.ts';
import { sumUsage } from './sum-usage.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { createCancelledError } from '../../core/generation-errors.ts';

export type EventBatch = readonly GenerationEvent[];

/** State that all model runs and tool calls of one request share. */
export interface AnswerSession {
  readonly request: GenerationRequest;
  readonly context: RequestContext;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Starts a model run that is canceled with the request. The request has no server tools. */
  runModel(request: GenerationRequest): Promise<Generation>;
  /** Resolves when the engine has accepted the first model run, or at `accept`. */
  readonly accepted: Promise<void>;
  /** Counts the request as accepted: keep-alives may start, and later failures end the stream. */
  accept(): void;
  /** Adds the usage of a finished run. */
  addUsage(usage: Usage): void;
  usage(): Usage;
  /** Returns the index of the next block of a choice. */
  nextBlockIndex(choice: number): number;
  /** Creates the events of a server call. `end` creates its result event with the same index. */
  startCall(call: ServerCall): { readonly events: EventBatch; end(result: ServerCallResult): EventBatch };
  countUse(what: 'searches' | 'pages' | 'programs', strategy?: SearchStrategy): void;
  /**
   * Prepends the `start` event to the first batch of the stream.
   * @param inputTokens Input tokens of the first visible run.
   */
  prependStart(batch: EventBatch, inputTokens?: number): EventBatch;
  hasStarted(): boolean;
  /**
   * Runs tool work until the request ends, `ms` have passed, or the time for tools is over.
   * @throws The error of the work; ServiceError `timeout`.
   */
  runWithTimeout<Result>(ms: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  hasToolTime(): boolean;
  /** Registers a callback for the end of the request, whatever the reason. */
  onClose(release: () => void): void;
  /** Cancels everything that runs. */
  abort(): void;
  /** Ends the session after the last event. */
  close(): void;
}

export interface AnswerSessionOptions {
  readonly request: GenerationRequest;
  readonly on: ModelTarget;
  readonly context: RequestContext;
  readonly generate: Generate;
  readonly clock: Clock;
  readonly newId: () => string;
}

export function createAnswerSession({
  request,
  on,
  context,
  generate,
  clock,
  newId,
}: AnswerSessionOptions): AnswerSession {
  const stop = createLinkedAbort(context.signal);
  const answerContext: RequestContext = { ...context, signal: stop.signal, log: createSummingLog(context.log) };
  const toolDeadline = clock.monotonic() + ANSWER_TOOLS_MS_MAX;
  const nextIndexes: number[] = [];
  const uses = { searches: 0, pages: 0, programs: 0 };
  let usage: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  let strategy: SearchStrategy | undefined;
  let isStarted = false;
  let isClosed = false;
  const releases: (() => void)[] = [];
  const acceptance = Promise.withResolvers<void>();

  const takeBlockIndex = (choice: number): number => {
    const index = nextIndexes[choice] ?? 0;
    nextIndexes[choice] = index + 1;
    return index;
  };

  const closeSession = (): void => {
    if (isClosed) return;
    isClosed = true;
    stop.signal.removeEventListener('abort', closeSession);
    stop.unlink();
    for (const release of releases) release();
    if (uses.searches + uses.pages + uses.programs > 0) context.log.add(uses);
  };
  // The abort closes the session even when no one reads the stream.
  stop.signal.addEventListener('abort', closeSession, { once: true });
  if (stop.signal.aborted) closeSession();

  return {
    request,
    context: answerContext,
    now: () => clock.now(),
    async runModel(modelRequest) {
      const generation = await generate(modelRequest, on, answerContext);
      acceptance.resolve();
      return generation;
    },
    accepted: acceptance.promise,
    accept: () => acceptance.resolve(),
    addUsage: (runUsage) => {
      usage = sumUsage(usage, runUsage);
    },
    usage: () => {
      if (uses.searches + uses.pages + uses.programs === 0) return usage;
      return { ...usage, serverTools: { ...uses, ...(strategy ? { strategy } : {}) } };
    },
    nextBlockIndex: takeBlockIndex,
    startCall(call) {
      const at = { choice: 0, index: takeBlockIndex(0), id: newId() };
      return {
        events: [{ type: 'server-call', ...at, call }],
        end: (result) => [{ type: 'server-result', ...at, result }],
      };
    },
    countUse(what, by) {
      uses[what]++;
      strategy = by ?? strategy;
    },
    prependStart(batch, inputTokens = 0) {
      if (isStarted) return batch;
      isStarted = true;
      const { promptTokens, cachedTokens } = usage;
      return [{ type: 'start', inputTokens: promptTokens + inputTokens, cachedTokens }, ...batch];
    },
    hasStarted: () => isStarted,
    async runWithTimeout(ms, work) {
      const timeoutMs = Math.min(ms, toolDeadline - clock.monotonic());
      if (timeoutMs <= 0) throw createTimeoutError();
      const toolAbort = createLinkedAbort(stop.signal);
      const timer = setTimeout(() => toolAbort.abort(createTimeoutError()), timeoutMs);
      try {
        // The race ends the wait even when a tool ignores its signal.
        return await raceWithAbort(work(toolAbort.signal), toolAbort.signal);
      } finally {
        clearTimeout(timer);
        toolAbort.unlink();
      }
    },
    hasToolTime: () => clock.monotonic() < toolDeadline,
    onClose(release) {
      if (isClosed) release();
      else releases.push(release);
    },
    abort: () => stop.abort(CANCELLED),
    close: closeSession,
  };
}

const CANCELLED = createCancelledError();

const createTimeoutError = (): ServiceError => new ServiceError('timeout', 'The tool exceeded its time limit.');
