import type { EngineEvent, Usage } from '../core/event.ts';
import { createCancelledError } from '../core/generation-errors.ts';
import { createLinkedAbort, type LinkedAbort } from '../lib/linked-abort.ts';
import { onIterationEnd } from '../lib/on-iteration-end.ts';
import type { EngineRequest, EngineRun } from './engine.ts';
import { mergeIterables } from './merge-iterables.ts';

export interface ChoiceCall {
  /** Aborts when the whole answer has ended in any way. */
  readonly signal: AbortSignal;
  /** Another choice of the answer has started, so that this one waits as long as it takes. */
  readonly hasStarted: boolean;
}

interface ChoiceCallsOptions {
  readonly signal: AbortSignal;
  /** Starts a request with one choice. */
  readonly start: (request: EngineRequest, call: ChoiceCall) => Promise<EngineRun>;
}

/**
 * Starts each choice of a request as a call of its own, which takes one sequence: a call with several choices would need all
 * of their sequences at once, and so keep others waiting, or wait for them. The answer starts with its first choice; the
 * others follow as sequences become free. Choice i uses seed + i. The failure of one choice is that of the answer.
 */
export async function startChoiceCalls(
  request: EngineRequest,
  { signal, start }: ChoiceCallsOptions,
): Promise<EngineRun> {
  if (request.choices === 1) return await start(request, { signal, hasStarted: false });
  const group = createLinkedAbort(signal);
  const startChoice = (choice: number): Promise<EngineRun> =>
    start(createChoiceRequest(request, choice), { signal: group.signal, hasStarted: choice > 0 });
  try {
    const { batches, ...startInfo } = await startChoice(0);
    const others = Array.from({ length: request.choices - 1 }, (_, i) => startChoice(i + 1));
    // The reader of the choice gets its failure.
    for (const other of others) other.catch(() => undefined);
    const events = mergeChoices([Promise.resolve({ batches }), ...others]);
    return { ...startInfo, batches: onIterationEnd(events, () => endCalls(group)) };
  } catch (error) {
    endCalls(group);
    throw error;
  }
}

function createChoiceRequest(request: EngineRequest, choice: number): EngineRequest {
  const { seed } = request.sampling;
  return {
    ...request,
    choices: 1,
    ...(seed === undefined ? {} : { sampling: { ...request.sampling, seed: seed + choice } }),
  };
}

function endCalls(group: LinkedAbort): void {
  group.abort(createCancelledError());
  group.unlink();
}

async function* mergeChoices(
  runs: readonly Promise<Pick<EngineRun, 'batches'>>[],
): AsyncGenerator<readonly EngineEvent[], void> {
  const usages = new Map<number, Usage>();
  yield* mergeIterables(
    runs.map((run, choice) => readChoice(run, { choice, onUsage: (usage) => usages.set(choice, usage) })),
  );
  const first = usages.get(0);
  // The reader detects a missing end itself.
  if (first && usages.size === runs.length) yield [{ type: 'end', usage: addCompletions(first, [...usages.values()]) }];
}

async function* readChoice(
  run: Promise<Pick<EngineRun, 'batches'>>,
  { choice, onUsage }: { readonly choice: number; readonly onUsage: (usage: Usage) => void },
): AsyncGenerator<readonly EngineEvent[], void> {
  for await (const batch of (await run).batches) {
    const events = batch.flatMap((event) => (event.type === 'end' ? [] : [{ ...event, choice }]));
    for (const event of batch) if (event.type === 'end') onUsage(event.usage);
    if (events.length > 0) yield events;
  }
}

/** Returns the usage of all choices: the prompt counts once. */
function addCompletions(first: Usage, all: readonly Usage[]): Usage {
  const reasoningTokens = all.reduce((sum, usage) => sum + (usage.reasoningTokens ?? 0), 0);
  return {
    ...first,
    completionTokens: all.reduce((sum, usage) => sum + usage.completionTokens, 0),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
}
