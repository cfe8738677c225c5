import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { INDEX_PAGE_BYTES_MAX } from './limits.ts';
import { describeFetchError } from './request-hub-file.ts';
import type { Fetch, PullLimits } from './pull-limits.ts';
import { readTextUpTo } from './read-body-text.ts';
import { saveBody } from './save-body.ts';
import { INDEX_ACCEPT, findWheel, normalizePackageName, parseIndexPage } from './simple-index.ts';
import type { FetchWheel } from './wheel.ts';

export interface PackageIndexOptions {
  /** URL of a simple index (PEP 503, PEP 691); may contain `user:password@`. */
  readonly indexUrl: string;
  readonly fetch: Fetch;
  readonly limits: Pick<PullLimits, 'stallMs'>;
}

/** Downloads wheels without pip: reads the page of the index and downloads the wheel whose hash the page states. */
export function createIndexWheelFetcher({ indexUrl, fetch, limits }: PackageIndexOptions): FetchWheel {
  const index = new URL(indexUrl.endsWith('/') ? indexUrl : `${indexUrl}/`);
  const credentials = `${decodeURIComponent(index.username)}:${decodeURIComponent(index.password)}`;
  index.username = '';
  index.password = '';
  const authorization = credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;

  const get = async (url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> => {
    // The credentials are sent to the index only, not to other hosts that store its files.
    const authorizationHeader = authorization && new URL(url).origin === index.origin ? { authorization } : {};
    try {
      const response = await fetch(url, { headers: { ...headers, ...authorizationHeader }, signal });
      if (response.ok) return response;
      await response.body?.cancel();
      throw new ServiceError('upstream-failed', `The package index returned status ${response.status} for ${url}.`);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ServiceError) throw thrown;
      throw new ServiceError('upstream-failed', `Cannot reach the package index: ${describeFetchError(thrown)}.`, {
        cause: thrown,
      });
    }
  };

  return async (part, folder, signal) => {
    const name = `${part.package}==${part.version}`;
    const base = new URL(`${normalizePackageName(part.package)}/`, index).href;
    const page = await get(base, { accept: INDEX_ACCEPT }, signal);
    const contentType = page.headers.get('content-type') ?? '';
    const file = findWheel(
      parseIndexPage(await readTextUpTo(page, INDEX_PAGE_BYTES_MAX), { contentType, base: page.url || base }),
      part,
    );
    if (!file) throw new ServiceError('upstream-failed', `The package index has no wheel for ${name}.`);
    if (!file.sha256) throw new ServiceError('upstream-failed', `The package index states no hash for ${name}.`);

    const target = join(folder, 'part.whl');
    const hash = createHash('sha256');
    const handle = await open(target, 'wx');
    try {
      // Requested after the file is open: Node closes the connection of a body that is not read yet.
      const response = await get(file.url, { 'accept-encoding': 'identity' }, signal);
      await saveBody(response, { handle, hash, signal, stallMs: limits.stallMs, onBytes: () => {} });
    } finally {
      await handle.close();
    }
    if (hash.digest('hex') === file.sha256) return target;
    throw new ServiceError(
      'upstream-failed',
      `The hash of the wheel for ${name} differs from the one that the package index states.`,
    );
  };
}
