import type { ModelEntry } from '../../catalogue/model.ts';
import { isDefined } from '../../lib/omit-nullish.ts';

interface ThinkingParameters {
  readonly enable_thinking?: boolean | null | undefined;
  readonly thinking?: object | null | undefined;
  readonly reasoning_effort?: string | null | undefined;
}

/**
 * Turns thinking on for a model that thinks by default, unless the request sets a thinking field itself.
 *
 * @param isExcluded The request uses a feature that cannot be combined with thinking. The default is not applied then,
 * so that no request is rejected for a field it did not send.
 */
export function applyDefaultThinking<Fields extends ThinkingParameters>(
  fields: Fields,
  { thinksByDefault }: Pick<ModelEntry, 'thinksByDefault'>,
  isExcluded: boolean,
): Fields {
  const { enable_thinking: isEnabled, thinking, reasoning_effort: effort } = fields;
  if (!thinksByDefault || isExcluded || isDefined(isEnabled) || isDefined(thinking) || effort === 'none') return fields;
  return { ...fields, enable_thinking: true };
}
