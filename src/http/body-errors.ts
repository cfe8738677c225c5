import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../core/error.ts';

/** Prescribed text: docs/wire/dashscope-native.md#errors. */
export const createInvalidBodyError = (reason: string): ServiceError =>
  new ServiceError('invalid-request', `Required body invalid, please check the request body format. (body: ${reason})`);

export const createBodyTooLargeError = (bytesMax: number): ServiceError =>
  new ServiceError('too-large', `The body may have at most ${bytesMax} bytes.`);

/** @throws ServiceError `invalid-request` if a request announces a compressed body. */
export function checkContentEncoding({ 'content-encoding': encoding = 'identity' }: IncomingHttpHeaders): void {
  if (encoding.toLowerCase() === 'identity') return;
  throw new ServiceError('invalid-request', 'Content-Encoding must be identity: compressed bodies are not supported.');
}

export const createDisconnectError = (): ServiceError =>
  new ServiceError('cancelled', 'The client disconnected before its request was complete.');
