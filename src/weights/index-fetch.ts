import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { INDEX_PAGE_BYTES_MAX } from '../core/limits.ts';
import { reasonOf } from './hub-connection.ts';
import type { Fetch, PullLimits } from './pull-options.ts';
import { readBodyText } from './read-body-text.ts';
import { saveBody } from './save-body.ts';
import { INDEX_ACCEPT, findWheel, normalizeName, parseIndexPage } from './simple-index.ts';
import type { FetchWheel } from './wheel.ts';

export interface IndexNeeds {
  /** Of a simple index (PEP 503, PEP 691); may carry `user:password@`. */
  readonly indexUrl: string;
  readonly fetch: Fetch;
  readonly limits: Pick<PullLimits, 'silenceMs'>;
}

/** For a Python without pip: reads the index's page and takes the wheel whose hash it names. */
export function createIndexFetch({ indexUrl, fetch, limits }: IndexNeeds): FetchWheel {
  const index = new URL(indexUrl.endsWith('/') ? indexUrl : `${indexUrl}/`);
  const credentials = `${decodeURIComponent(index.username)}:${decodeURIComponent(index.password)}`;
  index.username = '';
  index.password = '';
  const authorization = credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;

  const get = async (url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> => {
    // A password is for the index itself, not for where its files lie.
    const own = authorization && new URL(url).origin === index.origin ? { authorization } : {};
    try {
      const response = await fetch(url, { headers: { ...headers, ...own }, signal });
      if (response.ok) return response;
      await response.body?.cancel();
      throw new ServiceError('upstream-failed', `The package index answered ${response.status} for ${url}.`);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ServiceError) throw thrown;
      throw new ServiceError('upstream-failed', `The package index cannot be reached: ${reasonOf(thrown)}.`, {
        cause: thrown,
      });
    }
  };

  return async (part, folder, signal) => {
    const name = `${part.package}==${part.version}`;
    const base = new URL(`${normalizeName(part.package)}/`, index).href;
    const page = await get(base, { accept: INDEX_ACCEPT }, signal);
    const contentType = page.headers.get('content-type') ?? '';
    const file = findWheel(
      parseIndexPage(await readBodyText(page, INDEX_PAGE_BYTES_MAX), { contentType, base: page.url || base }),
      part,
    );
    if (!file) throw new ServiceError('upstream-failed', `The package index has no wheel of ${name}.`);
    if (!file.sha256) throw new ServiceError('upstream-failed', `The package index names no hash of ${name}.`);

    const target = join(folder, 'part.whl');
    const hash = createHash('sha256');
    const handle = await open(target, 'wx');
    try {
      // Behind the file: Node ends with the connection of a body that nobody reads yet.
      const response = await get(file.url, { 'accept-encoding': 'identity' }, signal);
      await saveBody(response, { handle, hash, signal, silenceMs: limits.silenceMs, onBytes: () => {} });
    } finally {
      await handle.close();
    }
    if (hash.digest('hex') === file.sha256) return target;
    throw new ServiceError('upstream-failed', `The wheel of ${name} has another hash than the package index names.`);
  };
}
