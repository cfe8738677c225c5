import { ServiceError } from '../../core/error.ts';
import type { Item, Metadata } from '../../core/item.ts';
import { CONVERSATION_ITEMS_MAX } from '../../core/limits.ts';
import { METADATA_KEY_CODE_POINTS_MAX, METADATA_PAIRS_MAX, METADATA_VALUE_CODE_POINTS_MAX } from '../limits.ts';
import { countCodePoints } from '../../lib/code-points.ts';

/** @throws ServiceError `invalid-request`. */
export function checkItems(items: readonly Item[]): void {
  if (items.length <= CONVERSATION_ITEMS_MAX) return;
  refuse('items', `must have at most ${CONVERSATION_ITEMS_MAX} items, got ${items.length}`);
}

/** @throws ServiceError `invalid-request` that names the pair and the rule but never the value. */
export function checkMetadata(metadata: Metadata): void {
  if (metadata.size > METADATA_PAIRS_MAX) {
    refuse('metadata', `must have at most ${METADATA_PAIRS_MAX} pairs, got ${metadata.size}`);
  }
  for (const [key, value] of metadata) {
    const keyLength = countCodePoints(key);
    if (keyLength > METADATA_KEY_CODE_POINTS_MAX) {
      const rule = `must have keys of at most ${METADATA_KEY_CODE_POINTS_MAX} characters, got one of ${keyLength}`;
      refuse('metadata', rule);
    }
    const valueLength = countCodePoints(value);
    if (valueLength > METADATA_VALUE_CODE_POINTS_MAX) {
      refuse(
        `metadata.${key.toWellFormed()}`,
        `must have at most ${METADATA_VALUE_CODE_POINTS_MAX} characters, got ${valueLength}`,
      );
    }
  }
}

function refuse(param: string, rule: string): never {
  throw new ServiceError('invalid-request', `${param} ${rule}.`, { param });
}
