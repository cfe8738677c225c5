import type { Batches } from '../../../resources/batches/batch.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { queryToObject } from '../../fields/list-query.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { decodeMetadata } from '../metadata.ts';
import { encodeBatch, encodeBatchList } from './encode.ts';
import { listIgnoredMetadata, parseWindowMs } from './rules.ts';
import { CreateBody, LIST_TEXTS, createListQuery } from './schema.ts';

export interface BatchEndpointsDeps {
  readonly batches: Batches;
  readonly time: ZonedTime;
  readonly strict?: boolean;
}

const shared = { family: 'compatible', regions: INTERFACES.batches.regions } as const;
const ALL = '/compatible-mode/v1/batches';
const ONE = `${ALL}/:id`;

/** Creates the endpoints of batches (docs/wire/openai-compatible.md#batches). */
export function createBatchEndpoints({ batches, time, strict = false }: BatchEndpointsDeps): readonly Endpoint[] {
  const ListQuery = createListQuery(time);
  return [
    {
      ...shared,
      operation: 'batches.create',
      method: 'POST',
      path: ALL,
      onDisconnect: 'finish',
      async handle({ body }, { owner }) {
        const { wire, unknown } = parseBody(CreateBody, body, { strict });
        const metadata = decodeMetadata(wire.metadata, 'metadata');
        const batch = await batches.create(owner, {
          inputFileId: wire.input_file_id,
          endpoint: wire.endpoint,
          completionWindow: wire.completion_window,
          windowMs: parseWindowMs(wire.completion_window),
          metadata,
        });
        return createJsonReply(encodeBatch(batch), encodeIgnoredHeader([...unknown, ...listIgnoredMetadata(metadata)]));
      },
    },
    {
      ...shared,
      operation: 'batches.list',
      method: 'GET',
      path: ALL,
      onDisconnect: 'cancel',
      async handle({ query }, { owner }) {
        const { wire, unknown } = parseBody(ListQuery, queryToObject(query), { texts: LIST_TEXTS, strict });
        const found = await batches.list(owner, {
          after: wire.after,
          name: wire.ds_name,
          inputFileIds: wire.input_file_ids,
          statuses: wire.status,
          createdFrom: wire.create_after,
          createdTo: wire.create_before,
          limit: wire.limit + 1,
        });
        const hasMore = found.length > wire.limit;
        return createJsonReply(encodeBatchList(found.slice(0, wire.limit), { hasMore }), encodeIgnoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'batches.get',
      method: 'GET',
      path: ONE,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner }) => createJsonReply(encodeBatch(await batches.find(owner, id))),
    },
    {
      ...shared,
      operation: 'batches.cancel',
      method: 'POST',
      path: `${ONE}/cancel`,
      onDisconnect: 'finish',
      handle: async ({ params: { id = '' } }, { owner }) =>
        createJsonReply(encodeBatch(await batches.cancel(owner, id))),
    },
  ];
}
