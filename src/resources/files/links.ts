import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../core/error.ts';
import type { RegionId } from '../../core/region.ts';
import type { Clock } from '../../lib/clock.ts';

export interface LinksNeeds {
  /** Whoever knows it can make addresses. */
  readonly secret: string;
  /** How callers reach us in a region, without a slash at its end. */
  readonly baseOf: (region: RegionId) => string;
  /** How long an address is good. */
  readonly seconds: number;
  /** Below it, what stands there by its id. */
  readonly path: string;
  readonly clock: Clock;
}

/** Addresses by which something can be got without a key, for a while. */
export interface Links {
  linkTo(what: { readonly id: string; readonly region: RegionId }): string;
  /** @throws ServiceError `forbidden` where we did not make the address, or made it too long ago. */
  check(id: string, query: URLSearchParams): void;
}

/** Below it, an id and nothing else. */
export const DOWNLOADS_PATH = '/downloads';

export function createLinks({ secret, baseOf, seconds, path, clock }: LinksNeeds): Links {
  // The path keeps these signatures apart from any others that the secret makes.
  const sign = (id: string, expires: string): string =>
    createHmac('sha256', secret).update(`${path}\n${id}\n${expires}`).digest('base64url');
  return {
    linkTo({ id, region }) {
      const expires = String(Math.floor(clock.now() / 1000) + seconds);
      return `${baseOf(region)}${path}/${id}?expires=${expires}&signature=${sign(id, expires)}`;
    },
    check(id, query) {
      const expires = query.get('expires') ?? '';
      const given = Buffer.from(query.get('signature') ?? '');
      const right = Buffer.from(sign(id, expires));
      if (given.length !== right.length || !timingSafeEqual(given, right)) {
        throw new ServiceError('forbidden', 'The signature of this address is not valid.');
      }
      if (Number(expires) * 1000 <= clock.now()) {
        throw new ServiceError('forbidden', 'This address has expired: ask for the file again to get a new one.');
      }
    },
  };
}
