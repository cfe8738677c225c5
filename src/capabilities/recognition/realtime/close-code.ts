import type { ServiceError } from '../../../core/error.ts';
import { FAMILIES } from '../../../protocols/families.ts';

/** WebSocket close codes (RFC 6455, section 7.4, and the IANA registry). */
export const CLOSE_CODES = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  internalError: 1011,
  tryAgainLater: 1013,
} as const;

/** Returns the close code for a connection that ends with this error. */
export function getCloseCode({ kind }: ServiceError): number {
  const status = FAMILIES.native.getStatus(kind);
  if (status === 429 || status === 503) return CLOSE_CODES.tryAgainLater;
  return status >= 500 ? CLOSE_CODES.internalError : CLOSE_CODES.policyViolation;
}
