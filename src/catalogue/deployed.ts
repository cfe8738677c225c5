import type { DeploymentRecord } from '../core/deployment.ts';
import { ServiceError } from '../core/error.ts';
import { DEPLOYMENT_RETRY_SECONDS, RETRY_AFTER_SECONDS_MAX } from '../core/limits.ts';
import { unixSeconds } from '../lib/clock.ts';
import type { Deployed, ModelEntry } from './model.ts';

/** A deployment as a model: what its base does, by its own name, within the context that was asked for. */
export function entryOf({ record, base }: Deployed): ModelEntry {
  const { maxContextLength, enableThinking } = record.spec;
  const { isContextGuessed, ...entry } = base;
  const contextTokens = Math.min(base.contextTokens, maxContextLength ?? Infinity);
  const isThinking = enableThinking === true && base.abilities.thinking !== false;
  return {
    ...entry,
    name: record.name,
    description: `A deployment of ${base.name}. ${base.description}`,
    contextTokens,
    // What was asked for is known, unless the model may turn out to have less.
    ...(isContextGuessed && maxContextLength === undefined ? { isContextGuessed } : {}),
    ...(isThinking ? { thinksByDefault: true } : {}),
    created: unixSeconds(record.createdAt),
  };
}

/** @throws ServiceError as `noCapacity` has it, where the record says that no call can be served. */
export function refuseIfNothingServes(record: DeploymentRecord): void {
  if (lackOf(record) !== undefined || record.readyCapacity === 0) throw noCapacity(record);
}

/** Why a call cannot be served, with a short Retry-After where one will be soon. */
export function noCapacity(deployment: Pick<DeploymentRecord, 'name' | 'status' | 'capacity'>): ServiceError {
  const { name, status } = deployment;
  const why = lackOf(deployment);
  const told = `Deployment ${name} serves no calls: its status is ${status.toUpperCase()}. ${why ?? COMING}`;
  // Somebody has to do something first: until then each try would be in vain.
  const retryAfterSeconds = why === undefined ? DEPLOYMENT_RETRY_SECONDS : RETRY_AFTER_SECONDS_MAX;
  return new ServiceError('overloaded', told, { retryAfterSeconds });
}

const COMING = 'Its capacity is not ready yet; please try again later.';

/** Why there is none, and none will come by itself; undefined where some is there or on the way. */
function lackOf({ status, capacity }: Pick<DeploymentRecord, 'status' | 'capacity'>): string | undefined {
  if (status === 'deleting') return 'It is being deleted.';
  if (status === 'failed') return 'No capacity of it came up; scale it to have that tried again.';
  return status === 'stopped' || capacity === 0 ? 'Its capacity is 0; scale it up to use it.' : undefined;
}

/** Its record is there, but not what it is of. */
export const withoutModel = ({ name, baseModel }: DeploymentRecord): ServiceError =>
  new ServiceError(
    'overloaded',
    `Deployment ${name} serves no calls: its model ${baseModel} is not offered any more.`,
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS_MAX,
    },
  );
