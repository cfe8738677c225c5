import type { RegionId } from './region.ts';

/** Stored data of an API key. The secret is not stored; it is shown once, at creation. */
export interface KeyRecord {
  readonly id: string;
  readonly region: RegionId;
  readonly workspace: string;
  /** Name given by the operator; may be empty. */
  readonly name: string;
  /** Last characters of the secret, so that people can tell keys apart. */
  readonly hint: string;
  /** Milliseconds since the epoch (UTC), like the other times here. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** Minute of the last use; undefined: none is known. */
  readonly usedAt: number | undefined;
}

/** Result of checking a secret. A caller learns only whether the key is valid; the reason is for Parley's log. */
export type KeyCheck =
  | { readonly status: 'valid'; readonly record: KeyRecord }
  | { readonly status: 'revoked' | 'expired'; readonly record: KeyRecord }
  | { readonly status: 'unknown' };
