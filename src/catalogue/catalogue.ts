import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import { regionName } from '../core/region.ts';
import { MODELS_NAMED_MAX } from '../core/limits.ts';
import { compilePattern } from './alias-pattern.ts';
import type { CatalogueParts } from './expand.ts';
import { withKnown } from './known.ts';
import type { Known } from './known.ts';
import type { Catalogue, ModelEntry, ModelInterface } from './model.ts';

/** An immutable catalogue. Of two entries of one name the later one counts. */
export function createCatalogue({ entries, weights, aliases }: CatalogueParts): Catalogue {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const byId = new Map(weights.map((set) => [set.id, set]));
  const patterns = aliases.map(({ pattern, model }) => ({ matches: compilePattern(pattern), model }));

  const find = (name: string): ModelEntry | undefined =>
    byName.get(name) ?? byName.get(patterns.find(({ matches }) => matches(name))?.model ?? '');

  return {
    resolve(name, { interface: wanted, region, without = [] }) {
      const entry = find(name);
      if (!entry) {
        const served = [...byName.values()].filter((one) => serves(one, wanted) && isOffered(one, region));
        const named = served.filter(({ interfaces }) => !without.some((each) => interfaces.includes(each)));
        throw unknownModel(name, named);
      }
      if (!serves(entry, wanted)) throw unsupportedModel(name, entry, wanted);
      if (!isOffered(entry, region)) throw notOffered(name, entry, region);
      return { asked: name, entry };
    },
    find,
    list: () => [...byName.values()],
    listWeights: () => [...byId.values()],
    weights(id) {
      const found = byId.get(id);
      if (found) return found;
      throw new ServiceError(
        'not-found',
        `There are no weights named ${id}. There are: ${[...byId.keys()].join(', ')}.`,
      );
    },
  };
}

/**
 * A catalogue whose content can be exchanged while others hold it; a call that is running keeps what it has resolved.
 * What engines tell of their models fills what the entries leave open.
 */
export interface ReplaceableCatalogue extends Catalogue {
  replace(next: Catalogue): void;
  /** @param name An entry's own name. */
  learn(name: string, known: Known): void;
}

export function createReplaceableCatalogue(initial: Catalogue): ReplaceableCatalogue {
  let current = initial;
  /** By entries of the catalogue in force: those of the next one are other objects. */
  let learned = new WeakMap<ModelEntry, ModelEntry>();
  const known = (entry: ModelEntry): ModelEntry => learned.get(entry) ?? entry;
  return {
    resolve(name, wanted) {
      const { asked, entry } = current.resolve(name, wanted);
      return { asked, entry: known(entry) };
    },
    find(name) {
      const entry = current.find(name);
      return entry && known(entry);
    },
    list: () => current.list().map(known),
    weights: (id) => current.weights(id),
    listWeights: () => current.listWeights(),
    replace(next) {
      current = next;
      learned = new WeakMap();
    },
    learn(name, told) {
      const entry = current.find(name);
      if (entry?.name === name) learned.set(entry, withKnown(entry, told));
    },
  };
}

const serves = (entry: ModelEntry, wanted: ModelInterface): boolean => entry.interfaces.includes(wanted);

const isOffered = (entry: ModelEntry, region: RegionId): boolean => !entry.regions || entry.regions.includes(region);

/** First sentence: wire.md 1.7, which clients' log matchers know. */
function unknownModel(name: string, available: readonly ModelEntry[]): ServiceError {
  const names = available.map((entry) => entry.name);
  const shown = names.slice(0, MODELS_NAMED_MAX).join(', ');
  const more = names.length > MODELS_NAMED_MAX ? ` and ${names.length - MODELS_NAMED_MAX} more` : '';
  return new ServiceError(
    'model-not-found',
    `The model \`${shorten(name)}\` does not exist or you do not have access to it. Available models: ${shown || 'none'}${more}.`,
    { param: 'model' },
  );
}

/** What the interfaces are called in refusals; the first text is wire.md 1.7's. */
const INTERFACE_NAMES: Record<ModelInterface, string> = {
  chat: 'OpenAI compatibility mode',
  responses: 'OpenAI compatibility mode',
  completions: 'OpenAI compatibility mode',
  embeddings: 'OpenAI compatibility mode',
  messages: 'the messages interface',
  native: 'the native interface',
  translation: 'translation',
  research: 'deep research',
  speech: 'speech recognition',
  rerank: 'reranking',
};

const unsupportedModel = (name: string, entry: ModelEntry, wanted: ModelInterface): ServiceError =>
  new ServiceError(
    'model-not-supported',
    `Unsupported model ${shorten(name)} for ${INTERFACE_NAMES[wanted]}. Asked on: ${wanted}; it serves: ${entry.interfaces.join(', ')}.`,
    { param: 'model' },
  );

const notOffered = (name: string, entry: ModelEntry, region: RegionId): ServiceError =>
  new ServiceError(
    'forbidden',
    `Access denied. The model \`${shorten(name)}\` is not offered in ${regionName(region)}; it is offered in ${(entry.regions ?? []).map(regionName).join(', ')}.`,
    { param: 'model' },
  );

/** A caller's name goes back to the caller, but not at any length. */
const shorten = (name: string): string => (name.length > 128 ? `${name.slice(0, 128)}…` : name);
