import { assert } from '../../lib/assert.ts';
import type { KvCache } from './kv-cache.ts';
import type { ExplicitCache } from './explicit-cache.ts';
import type { GenerationJob } from './job.ts';
import type { Slot, SlotPool } from './slot-pool.ts';

interface SequenceAssignerDeps {
  readonly slots: SlotPool;
  readonly cells: KvCache;
  readonly explicit: ExplicitCache;
}

/**
 * Creates a function that finds a free sequence for a choice of a job, and loads as much of its context as another sequence
 * or the explicit cache holds.
 * @param context Tokens that the sequence will hold. Default: the prompt of a job that starts, which alone uses the explicit
 *   cache.
 */
export function createSequenceAssigner({
  slots,
  cells,
  explicit,
}: SequenceAssignerDeps): (job: GenerationJob, context?: readonly number[]) => Promise<Slot> {
  return async function assign(job, resumedContext) {
    const context = resumedContext ?? job.prompt;
    const { call, isSeeded } = job;
    const { workspace } = call.owner;
    // Tokens whose log probabilities are requested must be evaluated.
    const isReusing = !call.promptLogprobs;
    const plan = slots.planReuse(isReusing ? context : [], { workspace, isSeeded });
    assert(plan, 'a sequence was free');
    const cached = isReusing && !resumedContext ? explicit.find(job) : undefined;
    const hit = cached && cached.tokens > plan.reusedTokens ? cached : undefined;
    const slot = hit ? slots.findFree() : plan.slot;
    assert(slot, 'a sequence was free');
    slots.acquire(slot, workspace);
    if (hit && !(await explicit.load(hit, slot))) {
      slots.release(slot);
      return await assign(job, resumedContext);
    }
    if (!hit && plan.copyFrom) await cells.copy(plan.copyFrom, slot);
    cells.truncate(slot, hit ? hit.tokens : plan.reusedTokens);
    return slot;
  };
}
