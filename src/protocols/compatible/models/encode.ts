import type { ModelEntry } from '../../../catalogue/model.ts';

/** wire.md section 10, models compat. */
export const encodeModel = ({ name, created }: ModelEntry): object => ({
  id: name,
  object: 'model',
  created,
  owned_by: 'system',
});
