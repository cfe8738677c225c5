import type { KeyCheck, KeyRecord } from '../../core/key.ts';
import type { RegionId } from '../../core/region.ts';
import type { IdPageQuery } from '../../store/page-by-id.ts';

/** The properties of a key that its creator chooses. */
export interface KeyDraft {
  readonly region: RegionId;
  readonly workspace: string;
  readonly name: string;
  /** UTC milliseconds; undefined: never expires. */
  readonly expiresAt: number | undefined;
}

/** A created key. The secret is available only here: the store holds its hash. */
export interface NewKey {
  readonly secret: string;
  readonly record: KeyRecord;
}

/** Filter of a key list; the service sets the page size. */
export type KeyFilter = Omit<IdPageQuery, 'limit'>;

export interface Keys {
  /** @throws ServiceError `invalid-request` that names the field, the rule and the value. */
  create(draft: KeyDraft): Promise<NewKey>;
  /**
   * Registers `secret` as the first key, in the primary workspace.
   * @returns undefined if any key exists, even a revoked one. Of concurrent calls, one creates the record.
   */
  createFirst(first: { readonly region: RegionId; readonly secret: string }): Promise<KeyRecord | undefined>;
  isEmpty(): Promise<boolean>;
  /** Lists at most KEY_PAGE_MAX keys, oldest first. */
  list(filter: KeyFilter): Promise<readonly KeyRecord[]>;
  /** Has no effect on a revoked key. @throws ServiceError `not-found`. */
  revoke(id: string): Promise<KeyRecord>;
  /**
   * Creates a key with the same properties and revokes the old one, in one transaction.
   * @param overlapUntil When the old key expires instead, in ms since the epoch, so that both are valid meanwhile.
   * @throws ServiceError `not-found`; `conflict` if the key is revoked or expired.
   */
  rotate(id: string, overlapUntil?: number): Promise<NewKey>;
  /** Checks a secret. A revocation by another process takes effect within KEY_CACHE_MS. */
  authenticate(secret: string): Promise<KeyCheck>;
  /** Returns whether a secret was valid at its last check, if that is still known. Reads no store. */
  wasValid(secret: string): boolean;
  /**
   * Finds the key on whose behalf background work continues without its secret. A revocation by another process takes
   * effect within KEY_CACHE_MS.
   * @returns undefined if there is no such key, or it is revoked or expired.
   */
  findActive(id: string): Promise<KeyRecord | undefined>;
  /** Returns whether there is such a key, and it is neither revoked nor expired. Reads the store. */
  isActive(id: string): Promise<boolean>;
}
