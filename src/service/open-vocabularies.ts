import type { Catalogue } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { createCustomizationEndpoint } from '../protocols/native/customization/endpoint.ts';
import { createVocabularies } from '../resources/vocabularies/service.ts';
import type { Vocabularies } from '../resources/vocabularies/vocabulary.ts';
import type { Store } from '../store/store.ts';
import type { ModelState } from './engine-host.ts';
import type { ModelEngines } from './model-engines.ts';

export interface OpenVocabulariesDeps {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly catalogue: Pick<Catalogue, 'find' | 'list' | 'resolve'>;
  readonly engines: Pick<ModelEngines, 'getState'>;
}

export interface VocabulariesModule {
  /** Used by speech recognition. */
  readonly vocabularies: Vocabularies;
  readonly endpoints: readonly Endpoint[];
}

/** States in which a model accepts requests, possibly after a wait. */
const ACCEPTING_STATES: readonly ModelState['state'][] = ['ready', 'on-demand', 'starting'];

/** Opens custom vocabularies and their endpoint. */
export function openVocabularies({
  config,
  store,
  clock,
  catalogue,
  engines,
}: OpenVocabulariesDeps): VocabulariesModule {
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
