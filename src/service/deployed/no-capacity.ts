import type { DeploymentStatus } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_RETRY_SECONDS } from '../../core/limits.ts';
import type { CalledDeployment } from './deployed.ts';

/** Why a call cannot be served; where its engine is on the way, it says when to come again. */
export function noCapacity({ name, status }: CalledDeployment): ServiceError {
  const coming = COMING[status];
  const why = `Deployment ${name} is ${status.toUpperCase()}: ${coming ?? STAYS[status]}`;
  return new ServiceError(
    'overloaded',
    why,
    coming === undefined ? {} : { retryAfterSeconds: DEPLOYMENT_RETRY_SECONDS },
  );
}

const COMING: Readonly<Partial<Record<DeploymentStatus, string>>> = {
  pending: 'nothing of it serves yet.',
  deploying: 'nothing of it serves yet.',
  updating: 'nothing of it serves at the moment.',
  running: 'its engine is not there at the moment.',
};

const STAYS: Readonly<Partial<Record<DeploymentStatus, string>>> = {
  stopped: 'its capacity is 0. Scale it up to call it.',
  failed: 'its engine did not start, and its events say why. Scale it to have that tried again.',
  deleting: 'it takes no more calls.',
};
