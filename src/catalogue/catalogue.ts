import type { DeploymentRecord } from '../core/deployment.ts';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import { regionName } from '../core/region.ts';
import { MODELS_NAMED_MAX } from '../core/limits.ts';
import { compilePattern } from './alias-pattern.ts';
import type { CatalogueParts } from './expand.ts';
import { entryOf, refuseIfNothingServes, withoutModel } from './deployed.ts';
import { withKnown } from './known.ts';
import type { Known } from './known.ts';
import type {
  Catalogue,
  Deployed,
  KnownDeployments,
  ModelEntry,
  ModelInterface,
  ModelPlace,
  ResolvedModel,
} from './model.ts';

/** Models alone: what they are, whoever asks. */
type ModelCatalogue = Pick<Catalogue, 'weights' | 'listWeights'> & {
  find(name: string): ModelEntry | undefined;
  list(): readonly ModelEntry[];
};

/** An immutable catalogue without deployments. Of two entries of one name the later one counts. */
export function createCatalogue({ entries, weights, aliases }: CatalogueParts): Catalogue {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const byId = new Map(weights.map((set) => [set.id, set]));
  const patterns = aliases.map(({ pattern, model }) => ({ matches: compilePattern(pattern), model }));

  const find = (name: string): ModelEntry | undefined =>
    byName.get(name) ?? byName.get(patterns.find(({ matches }) => matches(name))?.model ?? '');

  return withResolve({
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
  });
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

export function createReplaceableCatalogue(initial: Catalogue, deployments?: KnownDeployments): ReplaceableCatalogue {
  let current = initial;
  /** By entries of the catalogue in force: those of the next one are other objects. */
  let learned = new WeakMap<ModelEntry, ModelEntry>();
  const known = (entry: ModelEntry): ModelEntry => learned.get(entry) ?? entry;
  const models: ModelCatalogue = {
    find(name) {
      const entry = current.find(name);
      return entry && known(entry);
    },
    list: () => current.list().map(known),
    weights: (id) => current.weights(id),
    listWeights: () => current.listWeights(),
  };
  return {
    ...withResolve(models, deployments),
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

function withResolve(models: ModelCatalogue, deployments?: KnownDeployments): Catalogue {
  /** One whose model is in the catalogue no longer is there as long as it exists, but for lists. */
  const deployedOf = (record: DeploymentRecord): Deployed | undefined => {
    const base = models.find(record.baseModel);
    return base && { record, base };
  };
  const find = (name: string, place?: ModelPlace): ResolvedModel | undefined => {
    const record = place && deployments?.find(place, name);
    if (!record) {
      const entry = models.find(name);
      return entry && { asked: name, entry };
    }
    const deployed = deployedOf(record);
    if (!deployed) throw withoutModel(record);
    return { asked: name, entry: entryOf(deployed), deployed };
  };
  const list = (place?: ModelPlace): readonly ModelEntry[] => [
    ...models.list(),
    ...((place && deployments?.list(place)) ?? []).flatMap((record) => {
      const deployed = deployedOf(record);
      return deployed && record.status !== 'deleting' ? [entryOf(deployed)] : [];
    }),
  ];

  return {
    ...models,
    resolve(name, { interface: wanted, owner, without = [] }) {
      const found = find(name, owner);
      if (!found) {
        const served = list(owner).filter((one) => serves(one, wanted) && isOffered(one, owner.region));
        const named = served.filter(({ interfaces }) => !without.some((each) => interfaces.includes(each)));
        throw unknownModel(name, named);
      }
      const { entry, deployed } = found;
      if (!serves(entry, wanted)) throw unsupportedModel(name, entry, wanted);
      if (!isOffered(entry, owner.region)) throw notOffered(name, entry, owner.region);
      if (deployed) refuseIfNothingServes(deployed.record);
      return found;
    },
    find: (name, place) => find(name, place)?.entry,
    list,
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
