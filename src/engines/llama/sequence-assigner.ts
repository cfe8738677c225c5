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
 * Creates a function that assigns a job its first sequence, and loads as much of the prompt as another sequence or the
 * explicit cache holds.
 * @param context Tokens that the sequence will hold: the prompt, and for a resumed run also its generated tokens.
 */
export function createSequenceAssigner({
  slots,
  cells,
  explicit,
}: SequenceAssignerDeps): (job: GenerationJob, context?: readonly number[]) => Promise<Slot> {
  return async function assign(job, context = job.prompt) {
    const { call, isSeeded } = job;
    const { workspace } = call.owner;
    // Tokens whose log probabilities are requested must be evaluated.
    const isReusing = !call.promptLogprobs;
    const plan = slots.planReuse(isReusing ? context : [], { workspace, isSeeded });
    assert(plan, 'a sequence was free');
    const cached = isReusing ? explicit.find(job) : undefined;
    const hit = cached && cached.tokens > plan.reusedTokens ? cached : undefined;
    const slot = hit ? slots.findFree() : plan.slot;
    assert(slot, 'a sequence was free');
    slots.acquire(slot, workspace);
    job.slots.push(slot);
    if (hit && !(await explicit.load(hit, slot))) {
      job.slots.pop();
      slots.release(slot);
      return await assign(job, context);
    }
    if (!hit && plan.copyFrom) await cells.copy(plan.copyFrom, slot);
    cells.truncate(slot, hit ? hit.tokens : plan.reusedTokens);
    return slot;
  };
}
