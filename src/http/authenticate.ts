import type { IncomingHttpHeaders } from 'node:http';
import type { Owner } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { KeyCheck } from '../core/key.ts';
import { formatRegion, type RegionId } from '../core/region.ts';
import type { ProtocolFamily } from '../protocols/endpoint.ts';
import type { Call } from './call.ts';

type ValidKeyCheck = Extract<KeyCheck, { status: 'valid' }>;

/** Result of a secret's check. For a valid key it holds only the fields that this module needs. */
export type SecretCheck =
  | { readonly status: 'valid'; readonly record: Pick<ValidKeyCheck['record'], 'id' | 'region' | 'workspace'> }
  | { readonly status: 'unknown' | 'revoked' | 'expired' };

export type Authenticate = (secret: string) => Promise<SecretCheck>;

/**
 * Finds the owner of a request by its key (docs/wire/choices.md#regions-keys-workspaces).
 *
 * @throws ServiceError `unauthenticated` if the request has no key, two different keys, an invalid key or a key of
 * another region; `workspace-denied` if a header or the host names a workspace other than the key's.
 */
export async function authorize(
  { request: { headers }, family, address, log }: Pick<Call, 'request' | 'family' | 'address' | 'log'>,
  authenticate: Authenticate,
): Promise<Owner> {
  const check = await authenticate(readSecret(headers, family));
  if (check.status !== 'valid') {
    log.add({ keyStatus: check.status }); // for the log only: the caller learns only that the key is not valid
    throw new ServiceError('unauthenticated', '');
  }
  const { id, region, workspace } = check.record;
  if (region !== address.region) {
    const message = `The key belongs to ${formatRegion(region)}, this address to ${formatRegion(address.region)}. Use a key of this region or the address of the key's region.`;
    throw new ServiceError('unauthenticated', message);
  }
  const namedWorkspaces = [getHeader(headers, 'x-dashscope-workspace'), getHeader(headers, 'x-svc-workspace')];
  const isKeyWorkspace = namedWorkspaces.every((name) => name === undefined || name === '' || name === workspace);
  // Host names are case-insensitive, workspace names are not.
  if (!isKeyWorkspace || (address.workspace !== undefined && address.workspace !== workspace.toLowerCase())) {
    throw new ServiceError(
      'workspace-denied',
      'The workspace named by the header or host is not the workspace of the key.',
    );
  }
  return { workspace, region, keyId: id };
}

/** @throws ServiceError `forbidden`, naming the regions that offer `name`, if `region` is not one of them. */
export function checkRegion(name: string, regions: readonly RegionId[], region: RegionId): void {
  if (regions.includes(region)) return;
  const offered = regions.map(formatRegion).join(', ');
  throw new ServiceError(
    'forbidden',
    `${name} is not offered in ${formatRegion(region)}; it is offered in ${offered}.`,
  );
}

/**
 * Returns the token of `Authorization: Bearer` (the scheme is case-insensitive); undefined for another scheme or none.
 */
export function readBearer(headers: IncomingHttpHeaders): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}

/** Returns the first key of a request, if it has any. */
export const findSecret = (headers: IncomingHttpHeaders, family: ProtocolFamily): string | undefined =>
  readBearer(headers) ?? readApiKey(headers, family);

const readApiKey = (headers: IncomingHttpHeaders, family: ProtocolFamily): string | undefined =>
  family === 'messages' ? getHeader(headers, 'x-api-key') || undefined : undefined;

function readSecret(headers: IncomingHttpHeaders, family: ProtocolFamily): string {
  const bearer = readBearer(headers);
  const apiKey = readApiKey(headers, family);
  if (bearer !== undefined && apiKey !== undefined && bearer !== apiKey) {
    throw unauthenticated('Authorization and x-api-key contain different keys. Send only one of them.');
  }
  const secret = bearer ?? apiKey;
  if (secret !== undefined) return secret;
  const hasCredentials = !/^(?:bearer *)?$/i.test(headers.authorization ?? '');
  throw unauthenticated(
    hasCredentials
      ? 'The Authorization header must have the form: Bearer YOUR_API_KEY.'
      : `No API key was sent. Send the header Authorization: Bearer YOUR_API_KEY${family === 'messages' ? ' or x-api-key: YOUR_API_KEY' : ''}.`,
  );
}

/** Creates an error whose message replaces the prescribed text, because no key was checked. */
const unauthenticated = (message: string): ServiceError =>
  new ServiceError('unauthenticated', message, { replacesPrescribedText: true });

const getHeader = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
};
