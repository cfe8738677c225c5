import type { KeyCheck, KeyRecord } from '../../core/key.ts';
import { KEY_CACHE_MAX, KEY_CACHE_MS, KEY_SECRET_CHARACTERS_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { KeyStore } from '../../store/keys.ts';
import { createCheckCache } from './check-cache.ts';
import { stateOf } from './rules.ts';
import { hashOf, isSameHash } from './secret.ts';

export interface Authenticator {
  authenticate(secret: string): Promise<KeyCheck>;
  /** By its id; undefined where there is none, or it is not valid now. */
  findActive(id: string): Promise<KeyRecord | undefined>;
  /** After a change by this process: what was learnt before may not be true any more. */
  forget(): void;
}

/**
 * Looks a key up by the hash of its secret, or by its id, and remembers for KEY_CACHE_MS what it saw.
 *
 * What is unknown is remembered apart from what is known: a flood of wrong keys cannot push out the right ones.
 */
export function createAuthenticator({ store, clock }: { store: KeyStore; clock: Clock }): Authenticator {
  const limits = { clock, ageMsMax: KEY_CACHE_MS, entriesMax: KEY_CACHE_MAX };
  const known = createCheckCache<KeyRecord>(limits);
  const unknown = createCheckCache<true>(limits);
  const byId = createCheckCache<KeyRecord>(limits);

  const find = async (hash: string): Promise<KeyRecord | undefined> => {
    const cached = known.get(hash);
    if (cached) return cached;
    if (unknown.get(hash)) return undefined;
    const since = clock.monotonic();
    const stored = await store.findByHash(hash);
    if (stored && isSameHash(stored.hash, hash)) {
      known.set(hash, stored.record, since);
      return stored.record;
    }
    unknown.set(hash, true, since);
    return undefined;
  };

  return {
    async authenticate(secret) {
      if (secret.length > KEY_SECRET_CHARACTERS_MAX) return { status: 'unknown' };
      const record = await find(hashOf(secret));
      if (!record) return { status: 'unknown' };
      const state = stateOf(record, clock.now()); // each time: a key expires also while it is remembered
      return { status: state === 'active' ? 'valid' : state, record };
    },
    async findActive(id) {
      let record = byId.get(id);
      if (!record) {
        const since = clock.monotonic();
        record = await store.find(id);
        // Ids come from our own rows and not from callers: one that is unknown is rare, and asked for again.
        if (!record) return undefined;
        byId.set(id, record, since);
      }
      return stateOf(record, clock.now()) === 'active' ? record : undefined;
    },
    forget() {
      known.clear();
      unknown.clear();
      byId.clear();
    },
  };
}
