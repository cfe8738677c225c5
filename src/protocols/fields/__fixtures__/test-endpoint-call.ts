import type { Owner, RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Endpoint, EndpointRequest, Reply } from '../../endpoint.ts';
import { FAMILIES } from '../../families.ts';

export const TEST_REQUEST_ID = '00000000-0000-4000-8000-000000000000';

export const TEST_CONTEXT: RequestContext = {
  requestId: TEST_REQUEST_ID,
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'key_1' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

export interface EndpointCall extends Partial<Omit<EndpointRequest, 'query'>> {
  /** Query string, as in a URL. */
  readonly query?: string;
  /** Owner of the key; default: that of `TEST_CONTEXT`. */
  readonly owner?: Owner;
}

/** Calls an endpoint and returns what `http` would send: status, JSON body and headers of a response or an error. */
export async function callEndpoint(
  endpoint: Endpoint,
  { query = '', owner = TEST_CONTEXT.owner, ...fields }: EndpointCall = {},
): Promise<{ readonly status: number; readonly body: unknown; readonly headers: Readonly<Record<string, string>> }> {
  const family = FAMILIES[endpoint.family];
  let reply: Reply;
  try {
    const rest = { body: undefined, params: {}, headers: {}, ...fields };
    reply = await endpoint.handle({ ...rest, query: new URLSearchParams(query) }, { ...TEST_CONTEXT, owner });
  } catch (thrown) {
    const error = ServiceError.from(thrown);
    return { status: family.getStatus(error.kind), body: family.encodeErrorBody(error, TEST_REQUEST_ID), headers: {} };
  }
  if (reply.type !== 'json') throw new Error(`expected a JSON reply, got ${reply.type}`);
  return { status: reply.status, body: reply.body, headers: reply.headers ?? {} };
}
