import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RegionId } from '../../../core/region.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { encodeModel } from './encode.ts';

export interface ModelsNeeds {
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'list' | 'find'>;
}

const shared = {
  method: 'GET',
  family: 'compatible',
  regions: INTERFACES.models.regions,
  onDisconnect: 'cancel',
} as const;

/** GET /compatible-mode/v1/models: what can be asked in this region, not what is only declared. */
export function modelList({ catalogue }: ModelsNeeds): Endpoint {
  return {
    ...shared,
    operation: 'models.list',
    path: '/compatible-mode/v1/models',
    handle: (_request, { owner }) => {
      const entries = catalogue()
        .list()
        .filter((entry) => isOffered(entry, owner.region));
      return Promise.resolve(json({ object: 'list', data: entries.map(encodeModel) }));
    },
  };
}

/** GET /compatible-mode/v1/models/{id}. Names only; an alias is no model of its own. */
export function modelGet({ catalogue }: ModelsNeeds): Endpoint {
  return {
    ...shared,
    operation: 'models.get',
    path: '/compatible-mode/v1/models/:id',
    async handle({ params }, { owner }) {
      const name = params['id'] ?? '';
      const entry = catalogue().find(name);
      if (entry && isOffered(entry, owner.region)) return json(encodeModel(entry));
      const names = catalogue()
        .list()
        .filter((each) => isOffered(each, owner.region));
      throw new ServiceError(
        'model-not-found',
        `The model \`${name.slice(0, 64)}\` does not exist or you do not have access to it. Models: ${names.map((each) => each.name).join(', ')}.`,
        { param: 'model' },
      );
    },
  };
}

const isOffered = ({ runs, regions }: ModelEntry, region: RegionId): boolean =>
  runs.type !== 'none' && (!regions || regions.includes(region));
