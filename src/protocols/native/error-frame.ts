import type { ServiceError } from '../../core/error.ts';
import { encodeNumberedFrame } from '../numbered-frame.ts';
import { encodeErrorBody, getStatus } from './errors.ts';

/** Encodes the last event of a failed stream. @param id Number of the event in its stream, from 1. */
export const encodeErrorFrame = (error: ServiceError, id: number, requestId: string): string =>
  encodeNumberedFrame({ id, event: 'error', status: getStatus(error.kind), data: encodeErrorBody(error, requestId) });
