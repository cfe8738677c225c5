import type { RegionId } from './region.ts';

/** What is known of a key. The secret itself is nowhere: it is shown once, when it is made. */
export interface KeyRecord {
  readonly id: string;
  readonly region: RegionId;
  readonly workspace: string;
  /** The operator's own word for it; may be empty. */
  readonly name: string;
  /** The secret's last characters, so that a person can tell keys apart. */
  readonly hint: string;
  /** Milliseconds since the epoch, as all three times. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
}

/** What became of a presented secret. A caller learns only whether it is valid; the reason is for our log. */
export type KeyCheck =
  | { readonly status: 'valid'; readonly record: KeyRecord }
  | { readonly status: 'revoked' | 'expired'; readonly record: KeyRecord }
  | { readonly status: 'unknown' };
