import type { ServiceError } from '../../core/error.ts';
import { FAMILIES } from '../families.ts';

/** RFC 6455, 7.4, and the registry that it opened. */
export const CLOSE_CODES = { normal: 1000, goingAway: 1001, refused: 1008, ourFault: 1011, tryLater: 1013 } as const;

/** What a connection is closed with after this was told. */
export function closeCodeOf({ kind }: ServiceError): number {
  const status = FAMILIES.native.status(kind);
  if (status === 429 || status === 503) return CLOSE_CODES.tryLater;
  return status >= 500 ? CLOSE_CODES.ourFault : CLOSE_CODES.refused;
}
