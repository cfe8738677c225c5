import type { Item } from '../../../core/item.ts';
import { isRecord } from '../../../lib/is-record.ts';

/**
 * Lists the parts of stored messages that no model will read: content without any text or other part, and pictures
 * where no model can see.
 *
 * @param field Name of the field that contains the items.
 * @returns paths such as `items[0].content`.
 */
export function listIgnoredParts(
  items: readonly Item[],
  { field, canSee }: { readonly field: string; readonly canSee: boolean },
): readonly string[] {
  return items.flatMap(({ json }, index) => {
    const item: unknown = JSON.parse(json);
    if (!isRecord(item) || item['type'] !== 'message' || !Array.isArray(item['content'])) return [];
    const path = `${field}[${index}].content`;
    const parts: readonly unknown[] = item['content'];
    if (parts.every((part) => isRecord(part) && part['text'] === '')) return [path];
    return canSee ? [] : parts.flatMap((part, at) => (isPicture(part) ? [`${path}[${at}]`] : []));
  });
}

const isPicture = (part: unknown): boolean => isRecord(part) && part['type'] === 'input_image';
