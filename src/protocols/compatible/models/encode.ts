import type { ModelEntry } from '../../../catalogue/model.ts';

/**
 * Encodes a model object (docs/wire/openai-compatible.md#models).
 * @param name Model name in the response; may be an alias.
 */
export const encodeModel = ({ created }: ModelEntry, name: string): object => ({
  id: name,
  object: 'model',
  created,
  owned_by: 'system',
});
