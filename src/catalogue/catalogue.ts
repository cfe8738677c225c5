import type { DeploymentRecord } from '../core/deployment.ts';
import { ServiceError } from '../core/error.ts';
import { formatRegion, type RegionId } from '../core/region.ts';
import { MODELS_NAMED_MAX } from '../core/limits.ts';
import { compileAliasPattern } from './alias-pattern.ts';
import type { CatalogueParts } from './expand-catalogue.ts';
import { deploymentToEntry, assertServing, canServe, createMissingModelError } from './deployment-entry.ts';
import { applyEngineModelInfo, type EngineModelInfo } from './engine-model-info.ts';
import type {
  Catalogue,
  ResolvedDeployment,
  DeploymentLookup,
  ModelEntry,
  ModelInterface,
  CatalogueScope,
  ResolvedModel,
} from './model.ts';

/** Returns whether a model answers when it is called, now or after it has been loaded. */
type IsCallable = (entry: ModelEntry) => Promise<boolean>;

/** Callable as far as the catalogue itself knows: something runs the model. */
const namesRunner: IsCallable = async ({ runner }) => runner.type !== 'none';

/** Models without deployments: the same for every tenant. */
type ModelCatalogue = Pick<Catalogue, 'weights' | 'listWeights'> & {
  find(name: string): ModelEntry | undefined;
  list(): readonly ModelEntry[];
  readonly isCallable: IsCallable;
};

/** Creates an immutable catalogue without deployments. Later entries replace earlier ones of the same name. */
export function createCatalogue({ entries, weights, aliases }: CatalogueParts): Catalogue {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const byId = new Map(weights.map((set) => [set.id, set]));
  const patterns = aliases.map(({ pattern, model }) => ({ matches: compileAliasPattern(pattern), model }));

  const find = (name: string): ModelEntry | undefined =>
    byName.get(name) ?? byName.get(patterns.find(({ matches }) => matches(name))?.model ?? '');

  return addResolve({
    find,
    list: () => [...byName.values()],
    isCallable: namesRunner,
    listWeights: () => [...byId.values()],
    weights(id) {
      const found = byId.get(id);
      if (found) return found;
      throw new ServiceError('not-found', `Unknown weights ${id}. Available: ${[...byId.keys()].join(', ')}.`);
    },
  });
}

/**
 * A catalogue whose content can be replaced while it is in use; running calls keep the models they have resolved.
 * Metadata reported by engines completes the entries.
 */
export interface ReplaceableCatalogue extends Catalogue {
  replace(next: Catalogue): void;
  /** Completes an entry with reported metadata. @param name Canonical name of the entry; aliases are ignored. */
  applyModelInfo(name: string, info: EngineModelInfo): void;
  /** Sets the function that knows which models can be called. Until then, every model that names what runs it can. */
  setCallableCheck(isCallable: IsCallable): void;
}

export function createReplaceableCatalogue(initial: Catalogue, deployments?: DeploymentLookup): ReplaceableCatalogue {
  let current = initial;
  /** Keyed by the entries of the current catalogue; a new catalogue has other objects. */
  let learned = new WeakMap<ModelEntry, ModelEntry>();
  let isCallable = namesRunner;
  const applyLearned = (entry: ModelEntry): ModelEntry => learned.get(entry) ?? entry;
  const models: ModelCatalogue = {
    find(name) {
      const entry = current.find(name);
      return entry && applyLearned(entry);
    },
    list: () => current.list().map(applyLearned),
    isCallable: (entry) => isCallable(entry),
    weights: (id) => current.weights(id),
    listWeights: () => current.listWeights(),
  };
  return {
    ...addResolve(models, deployments),
    replace(next) {
      current = next;
      learned = new WeakMap();
    },
    applyModelInfo(name, info) {
      const entry = current.find(name);
      if (entry?.name === name) learned.set(entry, applyEngineModelInfo(entry, info));
    },
    setCallableCheck(check) {
      isCallable = check;
    },
  };
}

function addResolve(models: ModelCatalogue, deployments?: DeploymentLookup): Catalogue {
  /** A deployment whose base model was removed from the catalogue still exists, but is not listed. */
  const resolveDeployment = (record: DeploymentRecord): ResolvedDeployment | undefined => {
    const base = models.find(record.baseModel);
    return base && { record, base };
  };
  const find = (name: string, scope?: CatalogueScope): ResolvedModel | undefined => {
    const record = scope && deployments?.find(scope, name);
    if (!record) {
      const entry = models.find(name);
      return entry && { requestedName: name, entry };
    }
    const deployed = resolveDeployment(record);
    if (!deployed) throw createMissingModelError(record);
    return { requestedName: name, entry: deploymentToEntry(deployed), deployment: deployed };
  };
  const list = (scope?: CatalogueScope): readonly ModelEntry[] => [
    ...models.list(),
    ...((scope && deployments?.list(scope)) ?? []).flatMap((record) => {
      const deployed = resolveDeployment(record);
      return deployed && record.status !== 'deleting' ? [deploymentToEntry(deployed)] : [];
    }),
  ];
  const pickCallable = async (
    entries: readonly ModelEntry[],
    scope: CatalogueScope | undefined,
  ): Promise<readonly ModelEntry[]> => {
    const checkOne = async (entry: ModelEntry): Promise<boolean> => {
      const record = scope && deployments?.find(scope, entry.name);
      if (record) return canServe(record);
      // An engine that cannot say what state it is in is not suggested.
      return await models.isCallable(entry).catch(() => false);
    };
    const results = await Promise.all(entries.map(checkOne));
    return entries.filter((_, index) => results[index]);
  };

  const { isCallable: _, ...lookups } = models;
  return {
    ...lookups,
    async resolve(name, { interface: wanted, owner, exceptInterfaces = [] }) {
      const found = find(name, owner);
      const listSuggestions = async (): Promise<Suggestions> => {
        // Translation models answer chat completions but are no chat models.
        const unnamed = wanted === 'chat' ? [...exceptInterfaces, 'translation'] : exceptInterfaces;
        const suitable = list(owner).filter(
          (one) =>
            servesInterface(one, wanted) &&
            isOffered(one, owner.region) &&
            !one.interfaces.some((each) => unnamed.includes(each)),
        );
        return { suitable, callable: await pickCallable(suitable, owner) };
      };
      if (!found) {
        const suggestions = await listSuggestions();
        // An alias leads to a model of the catalogue, never to a deployment.
        const isModel = ({ name: own }: ModelEntry): boolean => models.find(own)?.name === own;
        throw createUnknownModelError(
          name,
          suggestions,
          suggestions.callable.find(isModel) ?? suggestions.suitable.find(isModel),
        );
      }
      const { entry, deployment } = found;
      if (!servesInterface(entry, wanted))
        throw createUnsupportedModelError(name, { entry, wanted, suggestions: await listSuggestions() });
      if (!isOffered(entry, owner.region)) throw createNotOfferedError(name, entry, owner.region);
      if (deployment) assertServing(deployment.record);
      return found;
    },
    find: (name, scope) => find(name, scope)?.entry,
    list,
    listCallable: (scope) => pickCallable(list(scope), scope),
  };
}

const servesInterface = (entry: ModelEntry, wanted: ModelInterface): boolean => entry.interfaces.includes(wanted);

const isOffered = (entry: ModelEntry, region: RegionId): boolean => !entry.regions || entry.regions.includes(region);

/** Models that an error names: those of the right kind, and those of them that can be called. */
interface Suggestions {
  readonly suitable: readonly ModelEntry[];
  readonly callable: readonly ModelEntry[];
}

/** Names the models that can be called. If there are none, names those that could be, once they have weights. */
function formatSuggestions({ suitable, callable }: Suggestions): string {
  if (callable.length > 0) return formatNames(callable);
  return suitable.length > 0 ? `none (not ready: ${formatNames(suitable)})` : 'none';
}

/** The first sentence is prescribed; log filters of clients match it (docs/wire/openai-compatible.md#errors). */
function createUnknownModelError(name: string, suggestions: Suggestions, first: ModelEntry | undefined): ServiceError {
  // The line is shown for names that mean the same in YAML and in an alias pattern.
  const alias =
    first !== undefined && /^[\w.:/@+-]{1,128}$/.test(name)
      ? ` To serve this name, the operator adds to parley.yaml: aliases: {"${name}": ${first.name}}`
      : '';
  return new ServiceError(
    'model-not-found',
    `The model \`${truncateName(name)}\` does not exist or you do not have access to it. Available models: ${formatSuggestions(suggestions)}.${alias}`,
    { param: 'model' },
  );
}

function formatNames(entries: readonly ModelEntry[]): string {
  const names = entries.map((entry) => entry.name);
  const shown = names.slice(0, MODELS_NAMED_MAX).join(', ');
  const more = names.length > MODELS_NAMED_MAX ? ` and ${names.length - MODELS_NAMED_MAX} more` : '';
  return `${shown}${more}`;
}

/** Names of the interfaces in error messages; the first text is prescribed (docs/wire/openai-compatible.md#errors). */
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

const createUnsupportedModelError = (
  name: string,
  {
    entry,
    wanted,
    suggestions,
  }: { readonly entry: ModelEntry; readonly wanted: ModelInterface; readonly suggestions: Suggestions },
): ServiceError =>
  new ServiceError(
    'model-not-supported',
    `Unsupported model ${truncateName(name)} for ${INTERFACE_NAMES[wanted]}. Requested interface: ${wanted}; supported: ${entry.interfaces.join(', ')}. Models with the requested interface: ${formatSuggestions(suggestions)}.`,
    { param: 'model' },
  );

const createNotOfferedError = (name: string, entry: ModelEntry, region: RegionId): ServiceError =>
  new ServiceError(
    'forbidden',
    `Access denied. The model \`${truncateName(name)}\` is not offered in ${formatRegion(region)}; it is offered in ${(entry.regions ?? []).map(formatRegion).join(', ')}.`,
    { param: 'model' },
  );

/** Truncates a caller's model name for error messages. */
const truncateName = (name: string): string => (name.length > 128 ? `${name.slice(0, 128)}…` : name);
