import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RegionId } from '../../../core/region.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { createFieldError } from '../../parse.ts';

export interface MessagesModelsDeps {
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'listCallable' | 'find'>;
}

/** Default and maximum page size (docs/wire/anthropic-compatible.md#token-counts-and-models). */
const PAGE_SIZE_DEFAULT = 20;
const PAGE_SIZE_MAX = 1000;

const shared = {
  method: 'GET',
  family: 'messages',
  regions: INTERFACES.messagesModels.regions,
  onDisconnect: 'cancel',
} as const;

/**
 * Creates GET /apps/anthropic/v1/models: the models of this interface served in this region, and the workspace's
 * deployments (docs/wire/anthropic-compatible.md#token-counts-and-models).
 */
export function createMessagesModelListEndpoint({ catalogue }: MessagesModelsDeps): Endpoint {
  return {
    ...shared,
    operation: 'messages.models.list',
    path: '/apps/anthropic/v1/models',
    async handle({ query }, { owner }) {
      const callable = await catalogue().listCallable(owner);
      const all = callable.filter((entry) => isServed(entry, owner.region));
      const size = parsePageSize(query.get('limit'));
      // Clients without a page position may send an empty parameter.
      const [before, after] = [query.get('before_id') || null, query.get('after_id') || null];
      if (before !== null && after !== null)
        throw createFieldError('before_id', 'send before_id or after_id, not both');
      const page = before === null ? getPageAfter(all, after, size) : getPageBefore(all, before, size);
      const data = page.entries.map((entry) => encodeModel(entry, entry.name));
      return createJsonReply({
        data,
        has_more: page.hasMore,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
      });
    },
  };
}

/** Creates GET /apps/anthropic/v1/models/{id}. An alias also finds a model and is the id in the response. */
export function createMessagesModelGetEndpoint({ catalogue }: MessagesModelsDeps): Endpoint {
  return {
    ...shared,
    operation: 'messages.models.get',
    path: '/apps/anthropic/v1/models/:id',
    async handle({ params }, { owner }) {
      const name = params['id'] ?? '';
      const entry = catalogue().find(name, owner);
      if (!entry || !isServed(entry, owner.region))
        throw new ServiceError('model-not-found', `model: ${name.slice(0, 64)}`, { param: 'model' });
      return createJsonReply(encodeModel(entry, name));
    },
  };
}

const isServed = ({ runner, interfaces, regions }: ModelEntry, region: RegionId): boolean =>
  runner.type !== 'none' && interfaces.includes('messages') && (!regions || regions.includes(region));

const encodeModel = ({ created }: ModelEntry, id: string) => ({
  type: 'model',
  id,
  display_name: id,
  created_at: new Date(created * 1000).toISOString().replace('.000Z', 'Z'),
});

function parsePageSize(limit: string | null): number {
  if (limit === null) return PAGE_SIZE_DEFAULT;
  const size = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (size >= 1 && size <= PAGE_SIZE_MAX) return size;
  throw createFieldError('limit', `limit must be an integer from 1 to ${PAGE_SIZE_MAX}`, limit);
}

interface ModelPage {
  readonly entries: readonly ModelEntry[];
  readonly hasMore: boolean;
}

function getPageAfter(all: readonly ModelEntry[], after: string | null, size: number): ModelPage {
  const from = after === null ? 0 : findPosition(all, after, 'after_id') + 1;
  return { entries: all.slice(from, from + size), hasMore: from + size < all.length };
}

function getPageBefore(all: readonly ModelEntry[], before: string, size: number): ModelPage {
  const to = findPosition(all, before, 'before_id');
  const from = Math.max(0, to - size);
  return { entries: all.slice(from, to), hasMore: from > 0 };
}

function findPosition(all: readonly ModelEntry[], id: string, field: string): number {
  const position = all.findIndex(({ name }) => name === id);
  if (position >= 0) return position;
  throw createFieldError(field, 'no model has this id', id);
}
