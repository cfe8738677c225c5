import type { Place } from '../../store/conversations.ts';
import type { Store } from '../../store/store.ts';

// One at a time, each in a transaction of its own, so that others wait for no more than that.

interface Placed extends Place {
  readonly id: string;
}

/** With its items. @returns whether it was there; where `unchangedBefore` says so, and was not changed since. */
export const removeConversation = (
  store: Store,
  { id, region, workspace }: Placed,
  { unchangedBefore }: { readonly unchangedBefore?: number } = {},
): Promise<boolean> =>
  store.transaction(async ({ conversations, items }) => {
    const place = { region, workspace };
    const isRemoved =
      unchangedBefore === undefined
        ? await conversations.remove(place, id)
        : await conversations.removeUnchanged(place, id, unchangedBefore);
    if (isRemoved) await items.clear({ ...place, container: id });
    return isRemoved;
  });

/**
 * With its items; those that its conversation keeps are that one's own. One that is still being made is made no further.
 * @returns whether it was there.
 */
export const removeResponse = (store: Store, { id, region, workspace }: Placed): Promise<boolean> =>
  store.transaction(async ({ responses, items, background, responseEvents, jobs }) => {
    const place = { region, workspace };
    const isRun = await background.remove(place, id);
    if (isRun) {
      await responseEvents.clear([id]);
      await jobs.remove('response', id);
    }
    const isRemoved = await responses.remove(place, id);
    if (isRemoved) await items.clear({ ...place, container: id });
    return isRemoved || isRun;
  });
