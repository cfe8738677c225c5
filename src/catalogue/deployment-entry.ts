import type { DeploymentRecord } from '../core/deployment.ts';
import { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS_MAX } from '../core/limits.ts';
import { DEPLOYMENT_RETRY_SECONDS } from './limits.ts';
import { toUnixSeconds } from '../lib/clock.ts';
import type { ResolvedDeployment, ModelEntry } from './model.ts';

/** Creates the catalogue entry of a deployment: the base model under the deployment's name, with its context limit. */
export function deploymentToEntry({ record, base }: ResolvedDeployment): ModelEntry {
  const { maxContextLength, enableThinking } = record.spec;
  const { isContextGuessed, ...entry } = base;
  const contextTokens = Math.min(base.contextTokens, maxContextLength ?? Infinity);
  const isThinking = enableThinking === true && base.abilities.thinking !== false;
  return {
    ...entry,
    name: record.name,
    description: `A deployment of ${base.name}. ${base.description}`,
    contextTokens,
    // A limit set by the caller is known, while the model's own context may turn out to be smaller.
    ...(isContextGuessed && maxContextLength === undefined ? { isContextGuessed } : {}),
    ...(isThinking ? { thinksByDefault: true } : {}),
    created: toUnixSeconds(record.createdAt),
  };
}

/** @throws ServiceError of `createNoCapacityError`, when the deployment cannot serve calls. */
export function assertServing(record: DeploymentRecord): void {
  if (explainMissingCapacity(record) !== undefined || record.readyCapacity === 0) throw createNoCapacityError(record);
}

/** Returns whether the deployment serves calls now, or when its capacity has started. */
export const canServe = (record: DeploymentRecord): boolean => explainMissingCapacity(record) === undefined;

/** Creates the error for a call that cannot be served. Retry-After is short if capacity is about to become ready. */
export function createNoCapacityError(
  deployment: Pick<DeploymentRecord, 'name' | 'status' | 'capacity'>,
): ServiceError {
  const { name, status } = deployment;
  const reason = explainMissingCapacity(deployment);
  const message = `Deployment ${name} cannot serve calls: its status is ${status.toUpperCase()}. ${reason ?? CAPACITY_PENDING}`;
  // The owner must act first; earlier retries would be useless.
  const retryAfterSeconds = reason === undefined ? DEPLOYMENT_RETRY_SECONDS : RETRY_AFTER_SECONDS_MAX;
  return new ServiceError('overloaded', message, { retryAfterSeconds });
}

const CAPACITY_PENDING = 'Its capacity is not ready yet; please try again later.';

/**
 * Explains why capacity is missing and will not come by itself. Undefined if there is some, or some is about to start.
 */
function explainMissingCapacity({
  status,
  capacity,
}: Pick<DeploymentRecord, 'status' | 'capacity'>): string | undefined {
  if (status === 'deleting') return 'It is being deleted.';
  if (status === 'failed') return 'None of its capacity started; scale it to try again.';
  return status === 'stopped' || capacity === 0 ? 'Its capacity is 0; scale it up to use it.' : undefined;
}

/** Creates the error for a deployment whose base model was removed from the catalogue. */
export const createMissingModelError = ({ name, baseModel }: DeploymentRecord): ServiceError =>
  new ServiceError(
    'overloaded',
    `Deployment ${name} cannot serve calls: its model ${baseModel} is no longer available.`,
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS_MAX,
    },
  );
