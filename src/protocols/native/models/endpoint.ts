import { z } from 'zod';
import { ownInterfaces } from '../../../catalogue/model.ts';
import type { Catalogue, ModelEntry, ModelInterface, ModelPlace } from '../../../catalogue/model.ts';
import type { RegionId } from '../../../core/region.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { fieldsOf, pageOf, pageQuery, pageTexts, skippedBy } from '../page.ts';
import { encodeModels } from './encode.ts';
import type { Shown } from './encode.ts';

export interface NativeModelsNeeds {
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'list' | 'find'>;
  /** Interfaces of models that this service has endpoints for. */
  readonly served: readonly ModelInterface[];
}

const ModelListQuery = z.object({
  ...pageQuery,
  /** A part of the name, in any case. */
  name: z.string().optional(),
  /** The whole name, or one that leads to a model: clients get one model by it. */
  model: z.string().optional(),
});

/** GET /api/v1/models (wire.md 10): what can be asked in this region, and the workspace's deployments. A name that leads nowhere is an empty list. */
export function nativeModelList({ catalogue, served }: NativeModelsNeeds): Endpoint {
  return {
    operation: 'native-models.list',
    method: 'GET',
    path: '/api/v1/models',
    family: 'native',
    regions: INTERFACES.nativeModels.regions,
    onDisconnect: 'cancel',
    async handle({ query }, { owner, requestId }) {
      const { wire, unknown } = parseBody(ModelListQuery, fieldsOf(query), { texts: pageTexts });
      const known = wire.model === undefined ? allOf(catalogue(), owner) : byName(catalogue(), wire.model, owner);
      const part = wire.name?.toLowerCase() ?? '';
      const models = known.filter(
        ({ name, entry }) => name.toLowerCase().includes(part) && isThere(entry, owner.region, served),
      );
      const page = pageOf(wire);
      const from = skippedBy(page);
      const shown = { total: models.length, models: models.slice(from, from + page.size) };
      return json(encodeModels(shown, page, requestId), ignoredHeader(unknown));
    },
  };
}

const allOf = (catalogue: Pick<Catalogue, 'list'>, owner: ModelPlace): readonly Shown[] =>
  catalogue.list(owner).map((entry) => ({ name: entry.name, entry }));

function byName(catalogue: Pick<Catalogue, 'find'>, name: string, owner: ModelPlace): readonly Shown[] {
  const entry = catalogue.find(name, owner);
  return entry ? [{ name, entry }] : [];
}

const isThere = (entry: ModelEntry, region: RegionId, served: readonly ModelInterface[]): boolean =>
  entry.runs.type !== 'none' &&
  ownInterfaces(entry).some((each) => served.includes(each)) &&
  (!entry.regions || entry.regions.includes(region));
