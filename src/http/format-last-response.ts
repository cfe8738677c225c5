import { STATUS_CODES } from 'node:http';
import type { ServiceError } from '../core/error.ts';
import { encodeErrorBody } from '../protocols/compatible/errors.ts';

export interface LastResponse {
  readonly status: number;
  readonly error: ServiceError;
  /** Further header lines, each with its line end. */
  readonly headers?: string;
}

/** Returns the bytes of a response that ends its connection, in the OpenAI-compatible shape. */
export function formatLastResponse({ status, error, headers = '' }: LastResponse, requestId: string): string {
  const body = JSON.stringify(encodeErrorBody(error, requestId));
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\n${headers}\r\n${body}`
  );
}
