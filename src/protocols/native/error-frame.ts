import type { ServiceError } from '../../core/error.ts';
import { numberedFrame } from '../numbered-frame.ts';
import { errorBody, status } from './errors.ts';

/** The last event of a stream that broke off. @param id Of the event: they count from 1. */
export const errorFrame = (error: ServiceError, id: number, requestId: string): string =>
  numberedFrame({ id, event: 'error', status: status(error.kind), data: errorBody(error, requestId) });
