import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../core/error.ts';
import { POOL_MODEL_RETRY_MS, POOL_MODEL_UNKNOWN_RETRY_MS, POOL_MODEL_WAIT_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LoadedModel } from '../engine.ts';
import type { PoolMember } from './pool-member.ts';
import { createAllDownError } from './failover.ts';
import { mergeModels } from './intersect-capabilities.ts';

export interface PoolModelDeps {
  readonly members: readonly PoolMember[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

export interface PoolModel {
  /**
   * Returns the merged model; the same object until something changes.
   * @throws ServiceError of the last member that failed, when no member has reported its model.
   */
  getModel(): Promise<LoadedModel>;
  /** Returns the members that have reported their model; all members before the first has. */
  getKnownMembers(): readonly PoolMember[];
}

/**
 * Merges what the members report of their model. All are queried at once; the first report is enough, and later reports
 * can only restrict it: the smallest context counts. A member whose server did not report restricts nothing. When none
 * reported, the declared model counts, and callers do not wait for the next query.
 */
export function createPoolModel({ members, clock, log }: PoolModelDeps): PoolModel {
  const reported = new Map<PoolMember, LoadedModel>();
  const declaredModels = new Map<PoolMember, LoadedModel>();
  let assumedModel: LoadedModel | undefined;
  let mergedModel: LoadedModel | undefined;
  let pendingQuery: Promise<LoadedModel> | undefined;
  let queriedAt = 0;

  const recordDeclared = (member: PoolMember, model: LoadedModel, why: ServiceError): LoadedModel => {
    if (!declaredModels.has(member))
      log.warn('upstream address does not report its model', {
        address: member.host,
        kind: why.kind,
        why: why.cause instanceof Error ? why.cause.message : why.message,
      });
    declaredModels.set(member, model);
    const merged = mergeModels([...declaredModels.values()]);
    if (!isDeepStrictEqual(merged, assumedModel)) assumedModel = merged;
    return assumedModel ?? merged;
  };

  const recordReported = (member: PoolMember, model: LoadedModel): LoadedModel => {
    reported.set(member, model);
    declaredModels.delete(member);
    const before = (mergedModel ??= model);
    const differingFields = COMPARED_FIELDS.filter((field) => model[field] !== before[field]);
    if (differingFields.length > 0)
      log.warn('upstream addresses report different models', {
        address: member.host,
        fields: differingFields.join(', '),
      });
    const merged = mergeModels([before, model]);
    if (!isDeepStrictEqual(merged, before)) mergedModel = merged;
    return mergedModel;
  };

  const queryMember = async (member: PoolMember): Promise<LoadedModel> => {
    const work = member.startWork();
    try {
      const model = await work.engine.loadModel();
      // A declared model proves nothing about the server: the breaker learns neither success nor failure.
      if (!model.unverified) work.recordOutput();
      work.discard();
      return model.unverified ? recordDeclared(member, model, model.unverified.reason) : recordReported(member, model);
    } catch (thrown) {
      work.recordFailure(ServiceError.from(thrown));
      throw thrown;
    }
  };

  const queryUnknownMembers = (): Promise<LoadedModel>[] => {
    queriedAt = clock.monotonic();
    return members.filter((member) => !reported.has(member) && member.breaker.getWaitMs() === 0).map(queryMember);
  };

  const queryAll = async (): Promise<LoadedModel> => {
    const answers = queryUnknownMembers();
    if (answers.length === 0) throw createAllDownError(members);
    const settled = Promise.allSettled(answers);
    try {
      const first = await Promise.any(answers);
      await Promise.race([settled, sleepUnref(POOL_MODEL_WAIT_MS)]);
      return mergedModel ?? assumedModel ?? first;
    } catch {
      const reasons = (await settled).flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
      throw reasons.at(-1);
    }
  };

  const getModel = async (): Promise<LoadedModel> => {
    const current = mergedModel ?? assumedModel;
    if (current === undefined) return await (pendingQuery ??= queryAll().finally(() => (pendingQuery = undefined)));
    const retryMs = mergedModel === undefined ? POOL_MODEL_UNKNOWN_RETRY_MS : POOL_MODEL_RETRY_MS;
    if (reported.size < members.length && clock.monotonic() - queriedAt >= retryMs)
      void Promise.allSettled(queryUnknownMembers());
    return current;
  };

  return { getModel, getKnownMembers: () => (reported.size > 0 ? [...reported.keys()] : members) };
}

/** Fields that must be equal wherever the same model runs. */
const COMPARED_FIELDS = [
  'contextTokens',
  'vocabularySize',
  'vectorDimensions',
  'chatTemplate',
  'toolTemplate',
] as const;

function sleepUnref(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
