import type { ModelEntry } from '../../catalogue/model.ts';
import { isPresent } from '../../lib/present.ts';

interface ThinkingSaid {
  readonly enable_thinking?: boolean | null | undefined;
  readonly thinking?: object | null | undefined;
  readonly reasoning_effort?: string | null | undefined;
}

/**
 * A request as it is meant where its model thinks by default and it says nothing of that itself.
 *
 * @param isExcluded It asks for what no thought can stand beside: the default gives way, as nobody is refused for what they
 *   did not say.
 */
export function withDefaultThinking<Fields extends ThinkingSaid>(
  fields: Fields,
  { thinksByDefault }: Pick<ModelEntry, 'thinksByDefault'>,
  isExcluded: boolean,
): Fields {
  const { enable_thinking: said, thinking, reasoning_effort: effort } = fields;
  if (!thinksByDefault || isExcluded || isPresent(said) || isPresent(thinking) || effort === 'none') return fields;
  return { ...fields, enable_thinking: true };
}
