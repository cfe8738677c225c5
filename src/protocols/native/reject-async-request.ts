import { ServiceError } from '../../core/error.ts';
import type { EndpointRequest } from '../endpoint.ts';
import { isTaskRequested } from './generation/mode-headers.ts';

/**
 * Rejects a request that asks for an asynchronous task, on an endpoint that only answers directly.
 * @throws ServiceError `forbidden`, with the vendor's text (docs/wire/dashscope-native.md#errors).
 */
export function rejectAsyncRequest({ headers }: Pick<EndpointRequest, 'headers'>): void {
  if (isTaskRequested(headers))
    throw new ServiceError('forbidden', 'Current user api does not support asynchronous calls.');
}
