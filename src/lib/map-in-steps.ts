import { setImmediate as afterPendingWork } from 'node:timers/promises';

/** Maps a list, and leaves the event loop to others after each `perStep` items. */
export async function mapInSteps<Item, Mapped>(
  items: readonly Item[],
  perStep: number,
  convert: (item: Item) => Mapped,
): Promise<readonly Mapped[]> {
  const mapped: Mapped[] = [];
  for (const item of items) {
    if (mapped.length > 0 && mapped.length % perStep === 0) await afterPendingWork();
    mapped.push(convert(item));
  }
  return mapped;
}
