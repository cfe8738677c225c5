import type { ModelEntry } from '../../../catalogue/model.ts';

/** wire.md section 10, models compat. @param asked The name in the answer: what was asked for. */
export const encodeModel = ({ created }: ModelEntry, asked: string): object => ({
  id: asked,
  object: 'model',
  created,
  owned_by: 'system',
});
