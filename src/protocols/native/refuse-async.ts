import { ServiceError } from '../../core/error.ts';
import type { EndpointRequest } from '../endpoint.ts';
import { wantsTask } from './generation/wants-stream.ts';

/** For what has an answer and no task. @throws ServiceError `forbidden`, wire.md 1.7's text. */
export function refuseAsync({ headers }: Pick<EndpointRequest, 'headers'>): void {
  if (wantsTask(headers)) throw new ServiceError('forbidden', 'Current user api does not support asynchronous calls.');
}
