import { z } from 'zod';
import { ServiceError } from '../../../core/error.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { fieldsOf, pageQuery, pageTexts } from '../page.ts';

const { regions, routes, off } = INTERFACES.fineTunes;

const ListQuery = z.object(pageQuery);

/** Fine-tunes (wire.md E8.2) where nothing is trained: none in the list, none under any id, and none can be made. */
export function fineTunes(): readonly Endpoint[] {
  return routes.map(({ method, path }): Endpoint => {
    const isAboutOne = path.includes(':');
    return {
      operation: isAboutOne ? 'fine-tunes.one' : method === 'POST' ? 'fine-tunes.create' : 'fine-tunes.list',
      method,
      path,
      family: 'native',
      regions,
      onDisconnect: 'cancel',
      async handle({ query }, { requestId }) {
        if (isAboutOne) throw new ServiceError('not-found', 'Not found!'); // wire.md E8.2 has the words
        if (method === 'POST') throw new ServiceError('unsupported', `Fine-tunes are not served: ${off}.`);
        const { wire, unknown } = parseBody(ListQuery, fieldsOf(query), { texts: pageTexts });
        const output = { page_no: wire.page_no, page_size: wire.page_size, total: 0, jobs: [] };
        return json({ request_id: requestId, output }, ignoredHeader(unknown));
      },
    };
  });
}
