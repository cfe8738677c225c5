import type { ConversationRecord } from '../../store/conversations.ts';
import type { ResponseLink } from '../../store/responses.ts';
import type { Store } from '../../store/store.ts';

// What the operator removes, and what passes its age: one at a time, each in a transaction of its own, so that callers
// wait for no more than that.

/** With its items. @returns whether it was there; where `unchangedBefore` says so, and was not changed since. */
export const removeConversation = (
  store: Store,
  { id, region, workspace }: ConversationRecord,
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

/** With its items; those that its conversation keeps are that one's own. @returns whether it was there. */
export const removeResponse = (store: Store, { id, region, workspace }: ResponseLink): Promise<boolean> =>
  store.transaction(async ({ responses, items }) => {
    const place = { region, workspace };
    const isRemoved = await responses.remove(place, id);
    if (isRemoved) await items.clear({ ...place, container: id });
    return isRemoved;
  });
