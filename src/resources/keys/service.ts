import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../core/error.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import type { KeyRecord } from '../../core/key.ts';
import { KEY_PAGE_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { createAuthenticator } from './authenticate.ts';
import type { KeyDraft, Keys, NewKey } from './key.ts';
import { checkDraft, PRIMARY_WORKSPACE, stateOf } from './rules.ts';
import { hashOf, hintOf, newSecret, type Random } from './secret.ts';

export interface KeysNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids?: Ids;
  readonly random?: Random;
}

export function createKeys({ store, clock, ids = systemIds, random = randomBytes }: KeysNeeds): Keys {
  const authenticator = createAuthenticator({ store: store.keys, clock });

  const draw = (draft: KeyDraft, secret: string): NewKey => ({
    secret,
    record: {
      id: ids.sortable('key_'),
      region: draft.region,
      workspace: draft.workspace,
      name: draft.name,
      hint: hintOf(secret),
      createdAt: clock.now(),
      expiresAt: draft.expiresAt,
      revokedAt: undefined,
    },
  });

  const isEmpty = async (keys = store.keys): Promise<boolean> => (await keys.list({ limit: 1 })).length === 0;

  return {
    authenticate: (secret) => authenticator.authenticate(secret),
    findActive: (id) => authenticator.findActive(id),
    isEmpty: () => isEmpty(),

    async create(draft) {
      checkDraft(draft, clock.now());
      const key = draw(draft, newSecret(random));
      await store.keys.insert({ record: key.record, hash: hashOf(key.secret) });
      return key;
    },

    async createFirst({ region, secret }) {
      const draft = { region, workspace: PRIMARY_WORKSPACE, name: 'first', expiresAt: undefined };
      const { record } = draw(draft, secret);
      const isFirst = await store.transaction(async ({ keys }) => {
        if (!(await isEmpty(keys))) return false;
        await keys.insert({ record, hash: hashOf(secret) });
        return true;
      });
      authenticator.forget(); // the secret may have been tried, and found unknown, a moment ago
      return isFirst ? record : undefined;
    },

    list: (filter) => store.keys.list({ ...filter, limit: KEY_PAGE_MAX }),

    async revoke(id) {
      const record = (await store.keys.revoke(id, clock.now())) ?? (await store.keys.find(id));
      authenticator.forget();
      return record ?? refuseUnknown(id);
    },

    async rotate(id) {
      const now = clock.now();
      const key = await store.transaction(async ({ keys }) => {
        const old = (await keys.find(id)) ?? refuseUnknown(id);
        refuseUnlessActive(old, now);
        // Where another process was faster, this gives nothing, and the whole transaction is given up.
        if (!(await keys.revoke(id, now))) refuseUnlessActive({ ...old, revokedAt: now }, now);
        const next = draw(old, newSecret(random));
        await keys.insert({ record: next.record, hash: hashOf(next.secret) });
        return next;
      });
      authenticator.forget();
      return key;
    },
  };
}

function refuseUnknown(id: string): never {
  throw new ServiceError('not-found', `Key: ${id} not found!`, { param: 'id' });
}

function refuseUnlessActive(record: KeyRecord, now: number): void {
  const state = stateOf(record, now);
  if (state === 'active') return;
  const what = state === 'revoked' ? 'is revoked' : 'has expired';
  throw new ServiceError('conflict', `Key ${record.id} ${what} and cannot be rotated: create a new one.`, {
    param: 'id',
  });
}
