import { listIgnoredSearchFields } from '../../fields/ignored-search-fields.ts';
import type { ChatCompletionWire } from './schema.ts';

/** Lists known fields that request a feature without having an effect. */
export function listIgnoredChatFields(wire: ChatCompletionWire): readonly string[] {
  return [
    ...listIgnoredSearchFields(wire, { reportsSources: false, isStreamed: wire.stream === true }),
    ...(wire.modalities?.includes('audio') ? ['modalities'] : []),
    ...(wire.audio ? ['audio'] : []),
  ];
}
