import type { Catalogue, CatalogueScope, ModelEntry, ModelInterface } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RegionId } from '../../../core/region.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { isTranslationModel } from '../../fields/translation-rules.ts';
import { encodeModel } from './encode.ts';

export interface ModelsDeps {
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'listCallable' | 'find'>;
  /** Model interfaces for which this service has endpoints. */
  readonly served: readonly ModelInterface[];
}

const shared = {
  method: 'GET',
  family: 'compatible',
  regions: INTERFACES.models.regions,
  onDisconnect: 'cancel',
} as const;

/**
 * Creates GET /compatible-mode/v1/models: lists the models that can be called in this region, and the workspace's
 * deployments, without models that are only declared.
 */
export function createModelListEndpoint({ catalogue, served }: ModelsDeps): Endpoint {
  return {
    ...shared,
    operation: 'models.list',
    path: '/compatible-mode/v1/models',
    async handle(_request, { owner }) {
      const entries = await listModels(catalogue(), owner, served);
      return createJsonReply({ object: 'list', data: entries.map((entry) => encodeModel(entry, entry.name)) });
    },
  };
}

/** Creates GET /compatible-mode/v1/models/{id}. An alias is resolved, and its name is returned as the id. */
export function createModelGetEndpoint({ catalogue, served }: ModelsDeps): Endpoint {
  return {
    ...shared,
    operation: 'models.get',
    path: '/compatible-mode/v1/models/:id',
    async handle({ params }, { owner }) {
      const name = params['id'] ?? '';
      const entry = catalogue().find(name, owner);
      if (!entry || !isOffered(entry, owner.region)) {
        const names = await listModels(catalogue(), owner, served);
        throw new ServiceError(
          'model-not-found',
          `The model \`${name.slice(0, 64)}\` does not exist or you do not have access to it. Available models: ${names.map((each) => each.name).join(', ')}.`,
          { param: 'model' },
        );
      }
      if (!isServed(entry, served))
        throw new ServiceError(
          'model-not-supported',
          `Unsupported model ${name.slice(0, 64)} for OpenAI compatibility mode.`,
          {
            param: 'model',
          },
        );
      return createJsonReply(encodeModel(entry, name));
    },
  };
}

/**
 * Lists the models that answer when they are called. Translation models are found by name only: without
 * `translation_options`, which no client sends that picks a model from this list, they refuse a chat.
 */
async function listModels(
  catalogue: Pick<Catalogue, 'listCallable'>,
  owner: CatalogueScope,
  served: readonly ModelInterface[],
): Promise<readonly ModelEntry[]> {
  const entries = await catalogue.listCallable(owner);
  return entries.filter(
    (entry) => isOffered(entry, owner.region) && isServed(entry, served) && !isTranslationModel(entry),
  );
}

const isOffered = ({ regions }: ModelEntry, region: RegionId): boolean => !regions || regions.includes(region);

const isServed = ({ runner, interfaces }: ModelEntry, served: readonly ModelInterface[]): boolean =>
  runner.type !== 'none' && interfaces.some((each) => served.includes(each));
