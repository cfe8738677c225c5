import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../core/error.ts';
import { POOL_MODEL_AGAIN_MS, POOL_MODEL_WAIT_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LoadedModel } from '../engine.ts';
import type { Member } from './member.ts';
import { allDown } from './round.ts';
import { weakestModel } from './weakest.ts';

export interface PoolModelNeeds {
  readonly members: readonly Member[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

export interface PoolModel {
  /** The same object until something changes. @throws ServiceError why the last one failed, where nobody knows. */
  model(): Promise<LoadedModel>;
  /** Members that have told their model; all of them before the first has. */
  known(): readonly Member[];
}

/**
 * What the members say of their model, as one. All are asked at once; the first word is enough, and the others' may take
 * away from it later: the smallest context counts.
 */
export function createPoolModel({ members, clock, log }: PoolModelNeeds): PoolModel {
  const said = new Map<Member, LoadedModel>();
  let known: LoadedModel | undefined;
  let asking: Promise<LoadedModel> | undefined;
  let askedAt = 0;

  const learn = (member: Member, model: LoadedModel): LoadedModel => {
    said.set(member, model);
    const before = (known ??= model);
    const differing = FIELDS.filter((field) => model[field] !== before[field]);
    if (differing.length > 0)
      log.warn('the addresses of a pool do not tell the same of their model', {
        address: member.host,
        fields: differing.join(', '),
      });
    const merged = weakestModel([before, model]);
    if (!isDeepStrictEqual(merged, before)) known = merged;
    return known;
  };

  const askOne = async (member: Member): Promise<LoadedModel> => {
    const work = member.begin();
    try {
      const model = await work.engine.model();
      work.spoke();
      work.left();
      return learn(member, model);
    } catch (thrown) {
      work.failed(ServiceError.from(thrown));
      throw thrown;
    }
  };

  const askUnknown = (): Promise<LoadedModel>[] => {
    askedAt = clock.monotonic();
    return members.filter((member) => !said.has(member) && member.breaker.waitMs() === 0).map(askOne);
  };

  const askAll = async (): Promise<LoadedModel> => {
    const answers = askUnknown();
    if (answers.length === 0) throw allDown(members);
    const settled = Promise.allSettled(answers);
    try {
      const first = await Promise.any(answers);
      await Promise.race([settled, elapsed(POOL_MODEL_WAIT_MS)]);
      return known ?? first;
    } catch {
      const reasons = (await settled).flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
      throw reasons.at(-1);
    }
  };

  const model = async (): Promise<LoadedModel> => {
    if (known === undefined) return await (asking ??= askAll().finally(() => (asking = undefined)));
    if (said.size < members.length && clock.monotonic() - askedAt >= POOL_MODEL_AGAIN_MS)
      void Promise.allSettled(askUnknown());
    return known;
  };

  return { model, known: () => (said.size > 0 ? [...said.keys()] : members) };
}

/** What ought to be the same wherever one model runs. */
const FIELDS = ['contextTokens', 'vocabularySize', 'vectorDimensions', 'chatTemplate'] as const;

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
