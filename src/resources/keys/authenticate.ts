import type { KeyCheck, KeyRecord } from '../../core/key.ts';
import { KEY_CACHE_ENTRIES_MAX, KEY_CACHE_MS, KEY_SECRET_CHARS_MAX } from '../limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { KeyStore } from '../../store/keys.ts';
import { createTtlCache } from './ttl-cache.ts';
import { getKeyState } from './rules.ts';
import { hashSecret, isSameHash } from './secret.ts';

export interface Authenticator {
  authenticate(secret: string): Promise<KeyCheck>;
  /** Returns whether a secret was valid at its last check, if that is still known. Reads no store. */
  wasValid(secret: string): boolean;
  /** Finds a key by its id. @returns undefined if there is none, or it is revoked or expired. */
  findActive(id: string): Promise<KeyRecord | undefined>;
  /** Drops cached lookups after this process changed a key. */
  clearCache(): void;
}

/**
 * Looks a key up by the hash of its secret, or by its id, and caches the result for KEY_CACHE_MS.
 *
 * Unknown secrets have a cache of their own, so that a flood of wrong keys cannot evict valid ones.
 */
export function createAuthenticator({ store, clock }: { store: KeyStore; clock: Clock }): Authenticator {
  const limits = { clock, ttlMs: KEY_CACHE_MS, entriesMax: KEY_CACHE_ENTRIES_MAX };
  const knownKeys = createTtlCache<KeyRecord>(limits);
  const unknownHashes = createTtlCache<true>(limits);
  const keysById = createTtlCache<KeyRecord>(limits);

  const find = async (hash: string): Promise<KeyRecord | undefined> => {
    const cached = knownKeys.get(hash);
    if (cached) return cached;
    if (unknownHashes.get(hash)) return undefined;
    const since = clock.monotonic();
    const stored = await store.findByHash(hash);
    if (stored && isSameHash(stored.hash, hash)) {
      knownKeys.set(hash, stored.record, since);
      return stored.record;
    }
    knownKeys.delete(hash);
    unknownHashes.set(hash, true, since);
    return undefined;
  };

  return {
    async authenticate(secret) {
      if (secret.length > KEY_SECRET_CHARS_MAX) return { status: 'unknown' };
      const record = await find(hashSecret(secret));
      if (!record) return { status: 'unknown' };
      const state = getKeyState(record, clock.now()); // on every call, because a cached key can expire
      return { status: state === 'active' ? 'valid' : state, record };
    },
    wasValid(secret) {
      const record = secret.length > KEY_SECRET_CHARS_MAX ? undefined : knownKeys.peek(hashSecret(secret));
      return record !== undefined && getKeyState(record, clock.now()) === 'active';
    },
    async findActive(id) {
      let record = keysById.get(id);
      if (!record) {
        const since = clock.monotonic();
        record = await store.find(id);
        // Ids come from Parley's own rows, so an unknown id is rare and not worth caching.
        if (!record) return undefined;
        keysById.set(id, record, since);
      }
      return getKeyState(record, clock.now()) === 'active' ? record : undefined;
    },
    clearCache() {
      knownKeys.clear();
      unknownHashes.clear();
      keysById.clear();
    },
  };
}
