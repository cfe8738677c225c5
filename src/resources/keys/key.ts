import type { KeyCheck, KeyRecord } from '../../core/key.ts';
import type { RegionId } from '../../core/region.ts';
import type { KeyPage } from '../../store/keys.ts';

/** What a key is made of; everything else about it is made with it. */
export interface KeyDraft {
  readonly region: RegionId;
  readonly workspace: string;
  readonly name: string;
  /** Milliseconds since the epoch; undefined: never. */
  readonly expiresAt: number | undefined;
}

/** The only moment at which the secret is known. */
export interface NewKey {
  readonly secret: string;
  readonly record: KeyRecord;
}

/** Which keys of a list; a page of it is the service's matter. */
export type KeyFilter = Omit<KeyPage, 'limit'>;

export interface Keys {
  /** @throws ServiceError `invalid-request` naming the field, the rule and the value. */
  create(draft: KeyDraft): Promise<NewKey>;
  /**
   * Makes `secret` the first key, of the primary workspace.
   * @returns undefined when there is a key already, also a revoked one: of several at once, one gets the record.
   */
  createFirst(first: { readonly region: RegionId; readonly secret: string }): Promise<KeyRecord | undefined>;
  isEmpty(): Promise<boolean>;
  /** At most KEY_PAGE_MAX, the oldest first. */
  list(filter: KeyFilter): Promise<readonly KeyRecord[]>;
  /** Revoking again changes nothing. @throws ServiceError `not-found`. */
  revoke(id: string): Promise<KeyRecord>;
  /**
   * A new key like the old one, and the old one revoked: both or neither.
   * @throws ServiceError `not-found`; `conflict` for a key that is revoked or has expired.
   */
  rotate(id: string): Promise<NewKey>;
  /** Whose secret this is. A revocation by another process is seen after at most KEY_CACHE_MS. */
  authenticate(secret: string): Promise<KeyCheck>;
  /**
   * The key that work goes on for when nobody presents its secret any more: undefined when there is none of this id, it
   * is revoked or has expired. A revocation by another process is seen after at most KEY_CACHE_MS.
   */
  findActive(id: string): Promise<KeyRecord | undefined>;
}
