import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../core/error.ts';
import type { RegionId } from '../../core/region.ts';
import type { Clock } from '../../lib/clock.ts';

export interface SignedLinksDeps {
  /** Signing secret: whoever knows it can create valid links. */
  readonly secret: string;
  /** Returns the region's public base URL, without a trailing slash. */
  readonly getBaseUrl: (region: RegionId) => string;
  /** How long a link is valid. */
  readonly lifetimeSeconds: number;
  /** Path prefix of the links; the id follows it. */
  readonly path: string;
  /** Returns whether a key exists, and is neither revoked nor expired. */
  readonly isKeyActive: (keyId: string) => Promise<boolean>;
  readonly clock: Clock;
}

/** Links that grant access to a file without a key for a limited time, and as long as the key that made them is valid. */
export interface SignedLinks {
  createLink(target: { readonly id: string; readonly region: RegionId; readonly keyId: string }): string;
  /**
   * Checks a link. @returns the id of the key that made it, for which the download runs.
   * @throws ServiceError `forbidden` if the signature is not valid, the link has expired, or its key is not valid any more.
   */
  check(id: string, query: URLSearchParams): Promise<string>;
}

/** Path prefix of download links; a file id follows it. */
export const DOWNLOADS_PATH = '/downloads';

export function createSignedLinks({
  secret,
  getBaseUrl,
  lifetimeSeconds,
  path,
  isKeyActive,
  clock,
}: SignedLinksDeps): SignedLinks {
  // The signed text includes the path, so that the secret's other signatures are not valid here.
  const sign = (id: string, expires: string, keyId: string): string =>
    createHmac('sha256', secret).update(`${path}\n${id}\n${expires}\n${keyId}`).digest('base64url');
  return {
    createLink({ id, region, keyId }) {
      const expires = String(Math.floor(clock.now() / 1000) + lifetimeSeconds);
      return `${getBaseUrl(region)}${path}/${id}?expires=${expires}&key=${keyId}&signature=${sign(id, expires, keyId)}`;
    },
    async check(id, query) {
      const expires = query.get('expires') ?? '';
      const keyId = query.get('key') ?? '';
      const received = Buffer.from(query.get('signature') ?? '');
      const expected = Buffer.from(sign(id, expires, keyId));
      if (received.length !== expected.length || !timingSafeEqual(received, expected)) {
        throw new ServiceError('forbidden', 'The signature of this link is not valid.');
      }
      if (Number(expires) * 1000 <= clock.now()) {
        throw new ServiceError('forbidden', 'This link has expired. Retrieve the file again to get a new link.');
      }
      if (!(await isKeyActive(keyId)))
        throw new ServiceError(
          'forbidden',
          'The key that made this link is not valid any more. Get a new link with another key.',
        );
      return keyId;
    },
  };
}
