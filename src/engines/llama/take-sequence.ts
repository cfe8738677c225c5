import { assert } from '../../lib/assert.ts';
import type { Cells } from './cells.ts';
import type { ExplicitCache } from './explicit-cache.ts';
import type { Job } from './job.ts';
import type { Slot, Slots } from './slots.ts';

interface Needs {
  readonly slots: Slots;
  readonly cells: Cells;
  readonly explicit: ExplicitCache;
}

/**
 * Gives a job its first sequence, with as much of its prompt as a sequence or the explicit cache has.
 * @param context What is to be in its cells in the end: its prompt, and for a run that goes on, what it has said.
 */
export function createTakeSequence({
  slots,
  cells,
  explicit,
}: Needs): (job: Job, context?: readonly number[]) => Promise<Slot> {
  return async function take(job, context = job.prompt) {
    const { call, isSeeded } = job;
    const { workspace } = call.owner;
    const plan = slots.plan(context, { workspace, isSeeded });
    assert(plan, 'a sequence was free');
    const found = explicit.find(job);
    const hit = found && found.tokens > plan.reused ? found : undefined;
    const slot = hit ? slots.take() : plan.slot;
    assert(slot, 'a sequence was free');
    slots.hold(slot, workspace);
    job.slots.push(slot);
    if (hit && !(await explicit.load(hit, slot))) {
      job.slots.pop();
      slots.release(slot);
      return await take(job, context);
    }
    if (!hit && plan.copyFrom) await cells.copy(plan.copyFrom, slot);
    cells.truncate(slot, hit ? hit.tokens : plan.reused);
    return slot;
  };
}
