import type { Catalogue } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { customization } from '../protocols/native/customization/endpoint.ts';
import { createVocabularies } from '../resources/vocabularies/service.ts';
import type { Vocabularies } from '../resources/vocabularies/vocabulary.ts';
import type { Store } from '../store/store.ts';
import type { ModelEngines, ModelState } from './model-engines.ts';

export interface OpenVocabulariesNeeds {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly catalogue: Pick<Catalogue, 'find' | 'list' | 'resolve'>;
  readonly engines: Pick<ModelEngines, 'stateOf'>;
}

export interface OpenedVocabularies {
  /** For recognition. */
  readonly vocabularies: Vocabularies;
  readonly endpoints: readonly Endpoint[];
}

/** States in which a model takes a request, be it after a wait. */
const TAKING: readonly ModelState['state'][] = ['ready', 'on-demand', 'starting'];

/** Vocabularies with their endpoint. */
export function openVocabularies({
  config,
  store,
  clock,
  catalogue,
  engines,
}: OpenVocabulariesNeeds): OpenedVocabularies {
  const vocabularies = createVocabularies({
    store,
    clock,
    catalogue,
    limits: config.vocabularies,
    async isUsable(targetModel) {
      const entry = catalogue.find(targetModel);
      if (!entry?.interfaces.includes('speech')) return false;
      return TAKING.includes((await engines.stateOf(entry)).state);
    },
  });
  const time = createZonedTime(config.timezone);
  return { vocabularies, endpoints: [customization({ vocabularies, time, strict: config.strict })] };
}
