import { ServiceError } from '../../../core/error.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { ignoredHeader } from '../../ignored.ts';
import { encodeItemList, itemPageOf } from '../items/item-list.ts';
import { retrievalOf } from './retrieval.ts';
import { tailStream } from './tail-stream.ts';

interface StoredNeeds {
  readonly responses: Pick<Responses, 'find' | 'delete' | 'listInput'>;
  readonly background: Pick<BackgroundResponses, 'tail' | 'cancel'>;
  readonly strict?: boolean;
}

const ROOT = '/compatible-mode/v1/responses';

/** What can be done with a response that is there (wire.md E6.2). */
export function storedResponses({ responses, background, strict = false }: StoredNeeds): readonly Endpoint[] {
  return [
    {
      ...SHARED,
      operation: 'responses.get',
      method: 'GET',
      path: `${ROOT}/:id`,
      async handle({ params: { id = '' }, query }, { owner }) {
        const { isStreamed, after, unknown } = retrievalOf(query, { strict });
        const headers = ignoredHeader(unknown);
        if (isStreamed) return stream(await background.tail(owner, id, after), tailStream(after), headers);
        const { json: told } = await responses.find(owner, id);
        return json(JSON.parse(told), headers);
      },
    },
    {
      ...SHARED,
      operation: 'responses.delete',
      method: 'DELETE',
      path: `${ROOT}/:id`,
      onDisconnect: 'finish',
      async handle({ params: { id = '' } }, { owner }) {
        await responses.delete(owner, id);
        return json({ id, object: 'response', deleted: true });
      },
    },
    {
      ...SHARED,
      operation: 'responses.list-input',
      method: 'GET',
      path: `${ROOT}/:id/input_items`,
      async handle({ params: { id = '' }, query }, { owner }) {
        const { wish, unknown } = itemPageOf(query, { strict });
        const { items, hasMore } = await responses.listInput(owner, id, wish);
        return json(encodeItemList(items, { hasMore }), ignoredHeader(unknown));
      },
    },
    {
      ...SHARED,
      operation: 'responses.cancel',
      method: 'POST',
      path: `${ROOT}/:id/cancel`,
      onDisconnect: 'finish',
      handle: async ({ params: { id = '' } }, { owner }) => json(JSON.parse(await background.cancel(owner, id))),
    },
    {
      ...SHARED,
      operation: 'responses.compact',
      method: 'POST',
      path: `${ROOT}/compact`,
      handle: () => Promise.reject(new ServiceError('not-found', `POST ${ROOT}/compact is not served.`)),
    },
  ];
}

const SHARED = {
  family: 'compatible',
  regions: INTERFACES.responses.regions,
  onDisconnect: 'cancel',
} as const satisfies Partial<Endpoint>;
