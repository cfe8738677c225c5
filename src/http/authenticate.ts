import type { IncomingHttpHeaders } from 'node:http';
import type { Owner } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { KeyCheck } from '../core/key.ts';
import type { RegionId } from '../core/region.ts';
import { regionName } from '../core/region.ts';
import type { Family } from '../protocols/endpoint.ts';
import type { Address } from './address.ts';

type Valid = Extract<KeyCheck, { status: 'valid' }>;

/** What became of a secret; of a valid key only what is needed here. */
export type SecretCheck =
  | { readonly status: 'valid'; readonly record: Pick<Valid['record'], 'id' | 'region' | 'workspace'> }
  | { readonly status: 'unknown' | 'revoked' | 'expired' };

export type Authenticate = (secret: string) => Promise<SecretCheck>;

export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  readonly family: Family;
  readonly address: Address;
}

/**
 * Whose request this is (decisions.md "Regions, keys, workspaces").
 *
 * @throws ServiceError `unauthenticated` for no key, two keys, a bad one or one of another region; `workspace-denied` when
 *   a header or the host names another workspace than the key's.
 */
export async function authorize(
  { headers, family, address }: Credentials,
  { authenticate, note }: { readonly authenticate: Authenticate; readonly note: (keyStatus: string) => void },
): Promise<Owner> {
  const check = await authenticate(readSecret(headers, family));
  if (check.status !== 'valid') {
    note(check.status); // for our log; a caller learns only that it is not valid
    throw new ServiceError('unauthenticated', '');
  }
  const { id, region, workspace } = check.record;
  if (region !== address.region) {
    const both = `The key belongs to ${regionName(region)}, this address to ${regionName(address.region)}.`;
    throw new ServiceError('unauthenticated', both);
  }
  const named = [header(headers, 'x-dashscope-workspace'), header(headers, 'x-svc-workspace')];
  const isNamed = named.every((asked) => asked === undefined || asked === '' || asked === workspace);
  // Host names have no case, workspaces do.
  if (!isNamed || (address.workspace !== undefined && address.workspace !== workspace.toLowerCase())) {
    throw new ServiceError('workspace-denied', 'The key belongs to another workspace than the one that was named.');
  }
  return { workspace, region, keyId: id };
}

/** @throws ServiceError `forbidden` naming the regions that offer what was asked for. */
export function checkRegion(name: string, regions: readonly RegionId[], region: RegionId): void {
  if (regions.includes(region)) return;
  const offered = regions.map(regionName).join(', ');
  throw new ServiceError('forbidden', `${name} is not offered in ${regionName(region)}; it is offered in ${offered}.`);
}

/** The token of `Authorization: Bearer`, in any case of the scheme; undefined for another scheme or none. */
export function readBearer(headers: IncomingHttpHeaders): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}

function readSecret(headers: IncomingHttpHeaders, family: Family): string {
  const bearer = readBearer(headers);
  const apiKey = family === 'messages' ? header(headers, 'x-api-key') || undefined : undefined;
  if (bearer !== undefined && apiKey !== undefined && bearer !== apiKey) {
    throw new ServiceError('unauthenticated', 'Authorization and x-api-key hold different keys; send one.');
  }
  const secret = bearer ?? apiKey;
  if (secret !== undefined) return secret;
  const also = family === 'messages' ? ' or x-api-key' : '';
  throw new ServiceError('unauthenticated', `No key was sent; send it as Authorization: Bearer${also}.`);
}

const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
};
