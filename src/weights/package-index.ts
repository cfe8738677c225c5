import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ServiceError } from '../core/error.ts';
import { INDEX_PAGE_BYTES_MAX } from './limits.ts';
import type { Fetch, PullLimits } from './pull-limits.ts';
import { readTextUpTo } from './read-body-text.ts';
import { describeFetchError } from './request-hub-file.ts';
import { saveBody } from './save-body.ts';
import { INDEX_ACCEPT, normalizePackageName, parseIndexPage, type PackageIndexFile } from './simple-index.ts';
import { nameFileInError } from '../lib/name-file-in-error.ts';

export interface PackageIndexOptions {
  /** URL of a simple index (PEP 503, PEP 691); may contain `user:password@`. */
  readonly indexUrl: string;
  readonly fetch: Fetch;
  readonly limits: Pick<PullLimits, 'stallMs'>;
}

export interface DownloadOptions {
  /** Path of the new file. */
  readonly target: string;
  readonly signal: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/** A Python package index, or another server of the same files. */
export interface PackageIndex {
  /** Lists the files of a package. @throws ServiceError `upstream-failed`, also for an unknown package. */
  listFiles(packageName: string, signal: AbortSignal): Promise<readonly PackageIndexFile[]>;
  /**
   * Downloads a file. Its address may be relative to that of the index.
   * @returns its SHA-256. @throws ServiceError `upstream-failed`.
   */
  download(address: string, options: DownloadOptions): Promise<string>;
}

export function createPackageIndex({ indexUrl, fetch, limits }: PackageIndexOptions): PackageIndex {
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
      throw new ServiceError('upstream-failed', `${url} returned status ${response.status}.`);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ServiceError) throw thrown;
      throw new ServiceError('upstream-failed', `Cannot reach ${new URL(url).origin}: ${describeFetchError(thrown)}.`, {
        cause: thrown,
      });
    }
  };

  return {
    async listFiles(packageName, signal) {
      const base = new URL(`${normalizePackageName(packageName)}/`, index).href;
      const page = await get(base, { accept: INDEX_ACCEPT }, signal);
      const contentType = page.headers.get('content-type') ?? '';
      return parseIndexPage(await readTextUpTo(page, INDEX_PAGE_BYTES_MAX), { contentType, base: page.url || base });
    },
    async download(address, { target, signal, onBytes = () => undefined }) {
      const hash = createHash('sha256');
      const handle = await open(target, 'wx');
      try {
        // Requested after the file is open: Node closes the connection of a body that is not read yet.
        const response = await get(new URL(address, index).href, { 'accept-encoding': 'identity' }, signal);
        await nameFileInError(target, saveBody(response, { handle, hash, signal, stallMs: limits.stallMs, onBytes }));
      } finally {
        await handle.close();
      }
      return hash.digest('hex');
    },
  };
}
