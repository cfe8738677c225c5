import type { Batches } from '../../../resources/batches/batch.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { metadataOf } from '../metadata-of.ts';
import { encodeBatch, encodeBatchList } from './encode.ts';
import { unheardIn, windowMsOf } from './rules.ts';
import { CreateBody, LIST_TEXTS, listQuery } from './schema.ts';

export interface BatchEndpointsNeeds {
  readonly batches: Batches;
  readonly time: ZonedTime;
  readonly strict?: boolean;
}

const shared = { family: 'compatible', regions: INTERFACES.batches.regions } as const;
const ALL = '/compatible-mode/v1/batches';
const ONE = `${ALL}/:id`;

/** wire.md E9.3. */
export function batchEndpoints({ batches, time, strict = false }: BatchEndpointsNeeds): readonly Endpoint[] {
  const ListQuery = listQuery(time);
  return [
    {
      ...shared,
      operation: 'batches.create',
      method: 'POST',
      path: ALL,
      onDisconnect: 'finish',
      async handle({ body }, { owner }) {
        const { wire, unknown } = parseBody(CreateBody, body, { strict });
        const metadata = metadataOf(wire.metadata, 'metadata');
        const batch = await batches.create(owner, {
          inputFileId: wire.input_file_id,
          endpoint: wire.endpoint,
          completionWindow: wire.completion_window,
          windowMs: windowMsOf(wire.completion_window),
          metadata,
        });
        return json(encodeBatch(batch), ignoredHeader([...unknown, ...unheardIn(metadata)]));
      },
    },
    {
      ...shared,
      operation: 'batches.list',
      method: 'GET',
      path: ALL,
      onDisconnect: 'cancel',
      async handle({ query }, { owner }) {
        const fields = Object.fromEntries([...query].filter(([, value]) => value !== ''));
        const { wire, unknown } = parseBody(ListQuery, fields, { texts: LIST_TEXTS, strict });
        const found = await batches.list(owner, {
          after: wire.after,
          name: wire.ds_name,
          inputFileIds: wire.input_file_ids,
          statuses: wire.status,
          createdFrom: wire.create_after,
          // Seconds are what is shown: the whole of the last one is meant.
          createdTo: wire.create_before === undefined ? undefined : wire.create_before + 999,
          limit: wire.limit + 1,
        });
        const hasMore = found.length > wire.limit;
        return json(encodeBatchList(found.slice(0, wire.limit), { hasMore }), ignoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'batches.get',
      method: 'GET',
      path: ONE,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner }) => json(encodeBatch(await batches.find(owner, id))),
    },
    {
      ...shared,
      operation: 'batches.cancel',
      method: 'POST',
      path: `${ONE}/cancel`,
      onDisconnect: 'finish',
      handle: async ({ params: { id = '' } }, { owner }) => json(encodeBatch(await batches.cancel(owner, id))),
    },
  ];
}
