import { z } from 'zod';
import { ServiceError } from '../../../core/error.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { queryToObject } from '../../fields/list-query.ts';
import { PAGE_FIELDS, PAGE_TEXTS } from '../page.ts';

const { regions, routes, disabledReason } = INTERFACES.fineTunes;

const ListQuery = z.object(PAGE_FIELDS);

/**
 * Creates the fine-tune endpoints (docs/wire/dashscope-native.md#fine-tunes). Parley does not train: the list is empty,
 * every id is unknown, and creation is rejected.
 */
export function createFineTuneEndpoints(): readonly Endpoint[] {
  return routes.map(({ method, path }): Endpoint => {
    const hasJobId = path.includes(':');
    return {
      operation: hasJobId ? 'fine-tunes.one' : method === 'POST' ? 'fine-tunes.create' : 'fine-tunes.list',
      method,
      path,
      family: 'native',
      regions,
      onDisconnect: 'cancel',
      async handle({ query, params }, { requestId }) {
        // The text starts with the vendor's (docs/wire/dashscope-native.md#fine-tunes).
        if (hasJobId) throw new ServiceError('not-found', `Not found! (${method} ${fillPath(path, params)})`);
        if (method === 'POST') throw new ServiceError('unsupported', `Fine-tunes are not served: ${disabledReason}.`);
        const { wire, unknown } = parseBody(ListQuery, queryToObject(query), { texts: PAGE_TEXTS });
        const output = { page_no: wire.page_no, page_size: wire.page_size, total: 0, jobs: [] };
        return createJsonReply({ request_id: requestId, output }, encodeIgnoredHeader(unknown));
      },
    };
  });
}

const fillPath = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replaceAll(/:(\w+)/g, (placeholder, name: string) => params[name] ?? placeholder);
