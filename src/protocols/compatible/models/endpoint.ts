import type { Catalogue, ModelEntry, ModelInterface } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RegionId } from '../../../core/region.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { encodeModel } from './encode.ts';

export interface ModelsNeeds {
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'list' | 'find'>;
  /** Interfaces of models that this service has endpoints for. */
  readonly served: readonly ModelInterface[];
}

const shared = {
  method: 'GET',
  family: 'compatible',
  regions: INTERFACES.models.regions,
  onDisconnect: 'cancel',
} as const;

/** GET /compatible-mode/v1/models: what can be asked in this region, not what is only declared, and the workspace's deployments. */
export function modelList({ catalogue, served }: ModelsNeeds): Endpoint {
  return {
    ...shared,
    operation: 'models.list',
    path: '/compatible-mode/v1/models',
    handle: (_request, { owner }) => {
      const entries = catalogue()
        .list(owner)
        .filter((entry) => isOffered(entry, owner.region) && isServed(entry, served));
      return Promise.resolve(json({ object: 'list', data: entries.map((entry) => encodeModel(entry, entry.name)) }));
    },
  };
}

/** GET /compatible-mode/v1/models/{id}: also by a name that leads to a model, which is then echoed as in answers. */
export function modelGet({ catalogue, served }: ModelsNeeds): Endpoint {
  return {
    ...shared,
    operation: 'models.get',
    path: '/compatible-mode/v1/models/:id',
    async handle({ params }, { owner }) {
      const name = params['id'] ?? '';
      const entry = catalogue().find(name, owner);
      if (!entry || !isOffered(entry, owner.region)) {
        const names = catalogue()
          .list(owner)
          .filter((each) => isOffered(each, owner.region) && isServed(each, served));
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
      return json(encodeModel(entry, name));
    },
  };
}

const isOffered = ({ regions }: ModelEntry, region: RegionId): boolean => !regions || regions.includes(region);

const isServed = ({ runs, interfaces }: ModelEntry, served: readonly ModelInterface[]): boolean =>
  runs.type !== 'none' && interfaces.some((each) => served.includes(each));
