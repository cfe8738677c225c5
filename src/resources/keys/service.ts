import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { KeyRecord } from '../../core/key.ts';
import { KEY_PAGE_MAX } from '../limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { createAuthenticator } from './authenticate.ts';
import type { KeyDraft, Keys, NewKey } from './key.ts';
import { checkKeyDraft, PRIMARY_WORKSPACE, getKeyState } from './rules.ts';
import { hashSecret, getSecretHint, createSecret } from './secret.ts';

export interface KeysDeps {
  readonly store: Store;
  readonly clock: Clock;
}

export function createKeys({ store, clock }: KeysDeps): Keys {
  const authenticator = createAuthenticator({ store: store.keys, clock });

  const buildKey = (draft: KeyDraft, secret: string): NewKey => ({
    secret,
    record: {
      id: systemIdGenerator.createSortableId('key_'),
      region: draft.region,
      workspace: draft.workspace,
      name: draft.name,
      hint: getSecretHint(secret),
      createdAt: clock.now(),
      expiresAt: draft.expiresAt,
      revokedAt: undefined,
      usedAt: undefined,
    },
  });

  const isEmpty = async (keys = store.keys): Promise<boolean> => (await keys.list({ limit: 1 })).length === 0;

  return {
    authenticate: (secret) => authenticator.authenticate(secret),
    wasValid: (secret) => authenticator.wasValid(secret),
    findActive: (id) => authenticator.findActive(id),
    isEmpty: () => isEmpty(),
    async isActive(id) {
      const record = await store.keys.find(id);
      return record !== undefined && getKeyState(record, clock.now()) === 'active';
    },

    async create(draft) {
      checkKeyDraft(draft, clock.now());
      const key = buildKey(draft, createSecret(randomBytes));
      await store.keys.insert({ record: key.record, hash: hashSecret(key.secret) });
      return key;
    },

    async createFirst({ region, secret }) {
      const draft = { region, workspace: PRIMARY_WORKSPACE, name: 'first', expiresAt: undefined };
      const { record } = buildKey(draft, secret);
      const isFirst = await store.transaction(async ({ keys }) => {
        if (!(await isEmpty(keys))) return false;
        await keys.insert({ record, hash: hashSecret(secret) });
        return true;
      });
      authenticator.clearCache(); // the secret may just have been cached as unknown
      return isFirst ? record : undefined;
    },

    list: (filter) => store.keys.list({ ...filter, limit: KEY_PAGE_MAX }),

    async revoke(id) {
      const record =
        (await store.transaction(({ keys }) => keys.revoke(id, clock.now()), { usesReserve: true })) ??
        (await store.keys.find(id));
      authenticator.clearCache();
      return record ?? throwKeyNotFound(id);
    },

    async rotate(id, overlapUntil) {
      const now = clock.now();
      const key = await store.transaction(async ({ keys }) => {
        const old = (await keys.find(id)) ?? throwKeyNotFound(id);
        requireActive(old, now);
        const ended = await (overlapUntil === undefined ? keys.revoke(id, now) : keys.expire(id, overlapUntil));
        // If another process revoked the key first, this throws and rolls the transaction back.
        if (!ended) requireActive({ ...old, revokedAt: now }, now);
        const next = buildKey(old, createSecret(randomBytes));
        await keys.insert({ record: next.record, hash: hashSecret(next.secret) });
        return next;
      });
      authenticator.clearCache();
      return key;
    },
  };
}

function throwKeyNotFound(id: string): never {
  throw new ServiceError('not-found', `Key: ${id} not found!`, { param: 'id' });
}

function requireActive(record: KeyRecord, now: number): void {
  const state = getKeyState(record, now);
  if (state === 'active') return;
  const what = state === 'revoked' ? 'is revoked' : 'has expired';
  throw new ServiceError('conflict', `Key ${record.id} ${what} and cannot be rotated: create a new one.`, {
    param: 'id',
  });
}
