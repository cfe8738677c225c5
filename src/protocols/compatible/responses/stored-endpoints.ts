import type { Responses } from '../../../resources/responses/response.ts';
import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import { createJsonReply, createStreamReply, type Endpoint } from '../../endpoint.ts';
import { INTERFACES } from '../../interfaces.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { encodeItemList, decodeItemPageQuery } from '../items/item-list.ts';
import { decodeRetrievalQuery } from './retrieval-query.ts';
import { createTailStreamEncoder } from './tail-stream.ts';

interface StoredResponseDeps {
  readonly responses: Pick<Responses, 'find' | 'delete' | 'listInput'>;
  readonly background: Pick<BackgroundResponses, 'tail' | 'cancel'>;
  readonly strict?: boolean;
}

const ROOT = '/compatible-mode/v1/responses';

/** Creates the endpoints of existing responses (docs/wire/openai-compatible.md#responses-routes). */
export function createStoredResponseEndpoints({
  responses,
  background,
  strict = false,
}: StoredResponseDeps): readonly Endpoint[] {
  return [
    {
      ...SHARED,
      operation: 'responses.get',
      method: 'GET',
      path: `${ROOT}/:id`,
      async handle({ params: { id = '' }, query }, { owner }) {
        const { isStreamed, after, unknown } = decodeRetrievalQuery(query, { strict });
        const headers = encodeIgnoredHeader(unknown);
        if (isStreamed)
          return createStreamReply(await background.tail(owner, id, after), createTailStreamEncoder(after), headers);
        const { json: responseJson } = await responses.find(owner, id);
        return createJsonReply(JSON.parse(responseJson), headers);
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
        return createJsonReply({ id, object: 'response', deleted: true });
      },
    },
    {
      ...SHARED,
      operation: 'responses.list-input',
      method: 'GET',
      path: `${ROOT}/:id/input_items`,
      async handle({ params: { id = '' }, query }, { owner }) {
        const { pageQuery, unknown } = decodeItemPageQuery(query, { strict });
        const { items, hasMore } = await responses.listInput(owner, id, pageQuery);
        return createJsonReply(encodeItemList(items, { hasMore }), encodeIgnoredHeader(unknown));
      },
    },
    {
      ...SHARED,
      operation: 'responses.cancel',
      method: 'POST',
      path: `${ROOT}/:id/cancel`,
      onDisconnect: 'finish',
      handle: async ({ params: { id = '' } }, { owner }) =>
        createJsonReply(JSON.parse(await background.cancel(owner, id))),
    },
  ];
}

const SHARED = {
  family: 'compatible',
  regions: INTERFACES.responses.regions,
  onDisconnect: 'cancel',
} as const satisfies Partial<Endpoint>;
