import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { RegionId } from '../../../core/region.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { refuse } from '../../parse.ts';

export interface MessagesModelsNeeds {
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'list' | 'find'>;
}

/** Of the interface that this list is modelled on: a page that is asked for without a size, and the largest. */
const PAGE_DEFAULT = 20;
const PAGE_MAX = 1000;

const shared = {
  method: 'GET',
  family: 'messages',
  regions: INTERFACES.messagesModels.regions,
  onDisconnect: 'cancel',
} as const;

/** GET /apps/anthropic/v1/models (wire.md E3.5): models of this interface that can be asked in this region, and the workspace's deployments. */
export function messagesModelList({ catalogue }: MessagesModelsNeeds): Endpoint {
  return {
    ...shared,
    operation: 'messages.models.list',
    path: '/apps/anthropic/v1/models',
    async handle({ query }, { owner }) {
      const all = catalogue()
        .list(owner)
        .filter((entry) => isServed(entry, owner.region));
      const size = pageSize(query.get('limit'));
      // Clients without a place to go on from may send an empty one.
      const [before, after] = [query.get('before_id') || null, query.get('after_id') || null];
      if (before !== null && after !== null) throw refuse('before_id', 'give before_id or after_id, not both');
      const page = before === null ? following(all, after, size) : preceding(all, before, size);
      const data = page.entries.map((entry) => encodeModel(entry, entry.name));
      return json({
        data,
        has_more: page.hasMore,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
      });
    },
  };
}

/** GET /apps/anthropic/v1/models/{id}: also by a name that leads to a model, which is then echoed. */
export function messagesModelGet({ catalogue }: MessagesModelsNeeds): Endpoint {
  return {
    ...shared,
    operation: 'messages.models.get',
    path: '/apps/anthropic/v1/models/:id',
    async handle({ params }, { owner }) {
      const name = params['id'] ?? '';
      const entry = catalogue().find(name, owner);
      if (!entry || !isServed(entry, owner.region))
        throw new ServiceError('model-not-found', `model: ${name.slice(0, 64)}`, { param: 'model' });
      return json(encodeModel(entry, name));
    },
  };
}

const isServed = ({ runs, interfaces, regions }: ModelEntry, region: RegionId): boolean =>
  runs.type !== 'none' && interfaces.includes('messages') && (!regions || regions.includes(region));

const encodeModel = ({ created }: ModelEntry, id: string) => ({
  type: 'model',
  id,
  display_name: id,
  created_at: new Date(created * 1000).toISOString().replace('.000Z', 'Z'),
});

function pageSize(limit: string | null): number {
  if (limit === null) return PAGE_DEFAULT;
  const size = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (size >= 1 && size <= PAGE_MAX) return size;
  throw refuse('limit', `limit must be a whole number from 1 to ${PAGE_MAX}`, limit);
}

interface Page {
  readonly entries: readonly ModelEntry[];
  readonly hasMore: boolean;
}

function following(all: readonly ModelEntry[], after: string | null, size: number): Page {
  const from = after === null ? 0 : placeOf(all, after, 'after_id') + 1;
  return { entries: all.slice(from, from + size), hasMore: from + size < all.length };
}

function preceding(all: readonly ModelEntry[], before: string, size: number): Page {
  const to = placeOf(all, before, 'before_id');
  const from = Math.max(0, to - size);
  return { entries: all.slice(from, to), hasMore: from > 0 };
}

function placeOf(all: readonly ModelEntry[], id: string, field: string): number {
  const at = all.findIndex(({ name }) => name === id);
  if (at >= 0) return at;
  throw refuse(field, 'there is no such model', id);
}
