import { z } from 'zod';
import { getEffectiveInterfaces } from '../../../catalogue/model.ts';
import type { Catalogue, ModelEntry, ModelInterface, CatalogueScope } from '../../../catalogue/model.ts';
import type { RegionId } from '../../../core/region.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { queryToObject } from '../../fields/list-query.ts';
import { decodePage, PAGE_FIELDS, PAGE_TEXTS, getPageOffset } from '../page.ts';
import { encodeModels } from './encode.ts';
import type { ListedModel } from './encode.ts';

export interface NativeModelsDeps {
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'listCallable' | 'find'>;
  /** Model interfaces that have endpoints in this service. */
  readonly servedInterfaces: readonly ModelInterface[];
}

const ModelListQuery = z.object({
  ...PAGE_FIELDS,
  /** A part of the name, case-insensitive. */
  name: z.string().optional(),
  /** The whole name or an alias: clients retrieve a single model by it. */
  model: z.string().optional(),
});

/**
 * Creates GET /api/v1/models (docs/wire/dashscope-native.md#models): the models served in this region, and the
 * workspace's deployments. An unknown name yields an empty list.
 */
export function createNativeModelListEndpoint({ catalogue, servedInterfaces }: NativeModelsDeps): Endpoint {
  return {
    operation: 'native-models.list',
    method: 'GET',
    path: '/api/v1/models',
    family: 'native',
    regions: INTERFACES.nativeModels.regions,
    onDisconnect: 'cancel',
    async handle({ query }, { owner, requestId }) {
      const { wire, unknown } = parseBody(ModelListQuery, queryToObject(query), { texts: PAGE_TEXTS });
      const candidates =
        wire.model === undefined
          ? (await catalogue().listCallable(owner)).map((entry) => ({ name: entry.name, entry }))
          : findModel(catalogue(), wire.model, owner);
      const namePart = wire.name?.toLowerCase() ?? '';
      const models = candidates.filter(
        ({ name, entry }) => name.toLowerCase().includes(namePart) && isServed(entry, owner.region, servedInterfaces),
      );
      const page = decodePage(wire);
      const from = getPageOffset(page);
      const list = { total: models.length, models: models.slice(from, from + page.size) };
      return createJsonReply(encodeModels(list, page, requestId), encodeIgnoredHeader(unknown));
    },
  };
}

function findModel(catalogue: Pick<Catalogue, 'find'>, name: string, owner: CatalogueScope): readonly ListedModel[] {
  const entry = catalogue.find(name, owner);
  return entry ? [{ name, entry }] : [];
}

const isServed = (entry: ModelEntry, region: RegionId, servedInterfaces: readonly ModelInterface[]): boolean =>
  entry.runner.type !== 'none' &&
  getEffectiveInterfaces(entry).some((each) => servedInterfaces.includes(each)) &&
  (!entry.regions || entry.regions.includes(region));
