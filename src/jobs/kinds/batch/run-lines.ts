import type { Owner } from '../../../core/context.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LOOK_LINES } from '../../../core/limits.ts';
import type { Clock } from '../../../lib/clock.ts';
import { linkedAbort } from '../../../lib/linked-abort.ts';
import { readTask, type Task } from './check-line.ts';
import { encodeAnswer, encodeFault } from './encode-line.ts';
import type { ExecuteLine } from './execute-line.ts';
import { createPace, type PaceNeeds } from './pace.ts';
import { type InputLine, readLines } from './read-lines.ts';
import type { ResultGroup } from './result-group.ts';
import { createSlots, type Slots } from './slots.ts';

export interface RunLinesNeeds {
  readonly batch: { readonly id: string; readonly endpoint: string; readonly owner: Owner };
  readonly input: AsyncIterable<Uint8Array>;
  readonly doneLines: (range: { readonly first: number; readonly last: number }) => Promise<ReadonlySet<number>>;
  readonly executeLine: ExecuteLine;
  readonly results: ResultGroup;
  /** Of all batches of the process. */
  readonly slots: Slots;
  /** Lines of this batch that are held in memory: they run, or rest after a refusal. */
  readonly heldMax: number;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly pace?: Omit<PaceNeeds, 'clock'> | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs the lines that have no result, and resolves when all have one. Refusals for want of room (429, 503) are no results:
 * the line waits and is asked again.
 *
 * @throws the signal's reason, when what ran has ended: what was answered by then is kept.
 */
export async function runLines(needs: RunLinesNeeds): Promise<void> {
  const { batch, executeLine, results, slots, heldMax, clock, signal } = needs;
  const { id, endpoint: url, owner } = batch;
  const pace = createPace({ clock, ...needs.pace });
  const held = createSlots(heldMax);
  const running = new Set<Promise<void>>();
  // One that fails ends the others: nothing is kept any more.
  const all = linkedAbort(signal);

  const run = async ({ line, customId, body, sizeBytes }: Task, place: () => void): Promise<void> => {
    for (let giveBack = place; ;) {
      const wish = { batch: id, url, body, sizeBytes, owner, signal: all.signal };
      const answer = await executeLine(wish).finally(giveBack);
      if (!isForWantOfRoom(answer.status)) {
        pace.answered();
        return await results.add(encodeAnswer({ line, customId }, answer));
      }
      pace.refused(answer.retryAfterSeconds);
      await pace.ready(all.signal);
      giveBack = await slots.take(all.signal);
    }
  };

  const begin = (task: Task, { place, leave }: { place: () => void; leave: () => void }): void => {
    const work = run(task, place)
      .catch((error: unknown) => all.abort(error))
      .finally(() => {
        leave();
        running.delete(work);
      });
    running.add(work);
  };

  /** Begins what there is to do, a line for each place that this batch gets: a line is read when it can be run. */
  const feed = async (lines: AsyncIterator<InputLine, void>): Promise<void> => {
    for (;;) {
      const leave = await held.take(all.signal);
      await pace.ready(all.signal);
      const place = await slots.take(all.signal);
      const next = await lines.next().catch((error: unknown) => {
        place();
        throw error;
      });
      const read = next.done === true ? undefined : readTask(next.value, { endpoint: url });
      if (read?.type === 'task') {
        begin(read.task, { place, leave });
        continue;
      }
      place();
      leave();
      if (next.done === true || !read) return;
      const { customId, fault } = read;
      await results.add(encodeFault({ line: next.value.line, customId, id: needs.newId() }, fault));
    }
  };

  const lines = linesWithoutResult(needs);
  try {
    await feed(lines);
    await Promise.all(running);
    all.signal.throwIfAborted();
  } finally {
    all.unlink();
    await Promise.all(running);
    await lines.return();
    await results.flush();
  }
}

const isForWantOfRoom = (status: number): boolean => status === 429 || status === 503;

/** Of an input that was looked at: what cannot be run has its result. */
export async function* linesWithoutResult({
  input,
  doneLines,
}: Pick<RunLinesNeeds, 'input' | 'doneLines'>): AsyncGenerator<InputLine, void> {
  let done: ReadonlySet<number> = new Set();
  let knownUntil = 0;
  for await (const each of readLines(input, { lineBytesMax: BATCH_LINE_BYTES_MAX })) {
    if (each.line > knownUntil) {
      knownUntil = each.line + BATCH_LOOK_LINES - 1;
      done = await doneLines({ first: each.line, last: knownUntil });
    }
    if (!done.has(each.line)) yield each;
  }
}
