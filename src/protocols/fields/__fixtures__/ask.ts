import type { Owner, RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Endpoint, EndpointRequest, Reply } from '../../endpoint.ts';
import { FAMILIES } from '../../families.ts';

export const REQUEST_ID = '00000000-0000-4000-8000-000000000000';

export const CONTEXT: RequestContext = {
  requestId: REQUEST_ID,
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'key_1' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

export interface Asked extends Partial<Omit<EndpointRequest, 'query'>> {
  /** As in a URL. */
  readonly query?: string;
  /** Whose key it is asked with; default: that of `CONTEXT`. */
  readonly owner?: Owner;
}

/** What `http` would say: status and JSON of an unstreamed answer or of a refusal, and headers besides. */
export async function ask(
  endpoint: Endpoint,
  { query = '', owner = CONTEXT.owner, ...asked }: Asked = {},
): Promise<{ readonly status: number; readonly body: unknown; readonly headers: Readonly<Record<string, string>> }> {
  const family = FAMILIES[endpoint.family];
  let reply: Reply;
  try {
    const rest = { body: undefined, params: {}, headers: {}, ...asked };
    reply = await endpoint.handle({ ...rest, query: new URLSearchParams(query) }, { ...CONTEXT, owner });
  } catch (thrown) {
    const error = ServiceError.from(thrown);
    return { status: family.status(error.kind), body: family.errorBody(error, REQUEST_ID), headers: {} };
  }
  if (reply.type !== 'json') throw new Error(`the answer is no JSON but ${reply.type}`);
  return { status: reply.status, body: reply.body, headers: reply.headers ?? {} };
}
