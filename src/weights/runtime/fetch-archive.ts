import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ServiceError } from '../../core/error.ts';
import { INDEX_PAGE_BYTES_MAX } from '../limits.ts';
import { describeFetchError } from '../request-hub-file.ts';
import type { Fetch, PullLimits } from '../pull-limits.ts';
import { readTextUpTo } from '../read-body-text.ts';
import { saveBody } from '../save-body.ts';
import type { NpmRegistry } from './npm-config.ts';
import type { PinnedPackage } from './speech-runtime.ts';
import { nameFileInError } from '../../lib/name-file-in-error.ts';

export interface FetchArchiveDeps {
  readonly registry: NpmRegistry;
  readonly fetch: Fetch;
  readonly limits: Pick<PullLimits, 'stallMs'>;
  readonly signal: AbortSignal;
  /** Called with the number of bytes of this archive received so far. */
  readonly onBytes: (bytes: number) => void;
}

/** Accept header of npm itself: the short form of the page that lists versions and their archives. */
const PAGE_ACCEPT = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8';

/**
 * Downloads a package's archive and verifies the hash in Parley's source code, not one that the registry states.
 * @throws ServiceError `upstream-failed`; the file at `path` is then useless.
 */
export async function fetchArchive(pinned: PinnedPackage, path: string, deps: FetchArchiveDeps): Promise<void> {
  const { limits, signal } = deps;
  const name = `${pinned.name}@${pinned.version}`;
  const url = await findArchiveUrl(pinned, deps);
  const hash = createHash('sha512');
  let bytes = 0;
  const handle = await open(path, 'w');
  const onBytes = (more: number): void => {
    bytes += more;
    // Stops the download of an archive that is larger than the pinned one.
    if (bytes > pinned.archiveBytes) throw createMismatchError(name);
    deps.onBytes(bytes);
  };
  try {
    // Requested after the file is open: Node closes the connection of a body that is not read yet.
    const response = await get(url, { 'accept-encoding': 'identity' }, deps);
    await nameFileInError(path, saveBody(response, { handle, hash, signal, stallMs: limits.stallMs, onBytes }));
  } finally {
    await handle.close();
  }
  if (hash.digest('base64') !== pinned.sha512) throw createMismatchError(name);
}

const createMismatchError = (name: string): ServiceError =>
  new ServiceError(
    'upstream-failed',
    `The archive of ${name} differs from the one that this version of Parley expects.`,
  );

/** Returns the archive's address from the package's page. */
async function findArchiveUrl({ name, version }: PinnedPackage, deps: FetchArchiveDeps): Promise<string> {
  const page = new URL(encodeURIComponent(name), addTrailingSlash(deps.registry.url)).href;
  const response = await get(page, { accept: PAGE_ACCEPT }, deps);
  const text = await readTextUpTo(response, INDEX_PAGE_BYTES_MAX);
  const found = getField(getField(getField(getField(parseJson(text), 'versions'), version), 'dist'), 'tarball');
  if (typeof found === 'string' && URL.canParse(found, page)) return new URL(found, page).href;
  throw new ServiceError('upstream-failed', `The package registry has no ${name}@${version}.`);
}

const addTrailingSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

async function get(url: string, headers: Record<string, string>, deps: FetchArchiveDeps): Promise<Response> {
  const { registry, signal, fetch } = deps;
  const isRegistryOrigin = new URL(url).origin === new URL(registry.url).origin;
  const authorizationHeader =
    isRegistryOrigin && registry.authorization !== undefined ? { authorization: registry.authorization } : {};
  try {
    const response = await fetch(url, { headers: { ...headers, ...authorizationHeader }, signal });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new ServiceError('upstream-failed', `The package registry returned status ${response.status} for ${url}.`);
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ServiceError) throw thrown;
    const where = new URL(registry.url).origin;
    throw new ServiceError(
      'upstream-failed',
      `Cannot reach the package registry ${where}: ${describeFetchError(thrown)}.`,
      {
        cause: thrown,
      },
    );
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new ServiceError('upstream-failed', 'The package registry returned a page that is not JSON.', {
      cause: thrown,
    });
  }
}

const getField = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
