import { createZonedTime } from '../../protocols/fields/zoned-time.ts';
import { createCustomizationEndpoint } from './native-customization/endpoint.ts';
import { createVocabularies } from './vocabularies/service.ts';
import type { ModelState } from '../../service/engine-host.ts';
import type { CapabilityContext } from '../../service/capability.ts';

/** States in which a model accepts requests, possibly after a wait. */
const ACCEPTING_STATES: readonly ModelState['state'][] = ['ready', 'on-demand', 'starting'];

/** Opens custom vocabularies and their endpoint. */
export function openVocabularies({ config, store, clock, catalogue, engines }: CapabilityContext) {
  const vocabularies = createVocabularies({
    store,
    clock,
    catalogue,
    limits: { vocabulariesMax: config.vocabularies.listsMax, entriesMax: config.vocabularies.entriesMax },
    async isUsable(targetModel) {
      const entry = catalogue.find(targetModel);
      if (!entry?.interfaces.includes('speech')) return false;
      return ACCEPTING_STATES.includes((await engines.getState(entry)).state);
    },
  });
  const time = createZonedTime(config.timezone);
  return { vocabularies, endpoints: [createCustomizationEndpoint({ vocabularies, time, strict: config.strict })] };
}
