import type { TenantScope } from '../../store/tenant-scope.ts';
import type { Store } from '../../store/store.ts';

// Each removal is a transaction of its own, so that other writers wait no longer than for one of them.

interface ScopedId extends TenantScope {
  readonly id: string;
}

/**
 * Removes a conversation with its items; with `unchangedBefore` (UTC ms) only if it was not changed since.
 * @returns whether it was removed.
 */
export const removeConversation = (
  store: Store,
  { id, region, workspace }: ScopedId,
  { unchangedBefore }: { readonly unchangedBefore?: number } = {},
): Promise<boolean> =>
  store.transaction(
    async ({ conversations, items }) => {
      const scope = { region, workspace };
      const isRemoved =
        unchangedBefore === undefined
          ? await conversations.remove(scope, id)
          : await conversations.removeUnchanged(scope, id, unchangedBefore);
      if (isRemoved) await items.clear({ ...scope, container: id });
      return isRemoved;
    },
    { usesReserve: true },
  );

/**
 * Removes a response with its items and stops it if it is still running. Items that a conversation holds stay there.
 * @returns whether it existed.
 */
export const removeResponse = (store: Store, { id, region, workspace }: ScopedId): Promise<boolean> =>
  store.transaction(
    async ({ responses, items, background, responseEvents, jobs }) => {
      const scope = { region, workspace };
      const isRun = await background.remove(scope, id);
      if (isRun) {
        await responseEvents.removeAll([id]);
        await jobs.remove('response', id);
      }
      const isRemoved = await responses.remove(scope, id);
      if (isRemoved) await items.clear({ ...scope, container: id });
      return isRemoved || isRun;
    },
    { usesReserve: true },
  );
