import { ignoredWishes } from '../../fields/ignored-wishes.ts';
import type { ChatCompletionWire } from './schema.ts';

/** Known fields that this version does not honour although they ask for another answer. */
export function ignoredFields(wire: ChatCompletionWire): readonly string[] {
  return [
    ...ignoredWishes(wire, { tellsSources: false, isStreamed: wire.stream === true }),
    ...(wire.modalities?.includes('audio') ? ['modalities'] : []),
    ...(wire.audio ? ['audio'] : []),
  ];
}
