import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ServiceError } from '../../core/error.ts';
import { INDEX_PAGE_BYTES_MAX } from '../../core/limits.ts';
import { reasonOf } from '../hub-connection.ts';
import type { Fetch, PullLimits } from '../pull-options.ts';
import { readBodyText } from '../read-body-text.ts';
import { saveBody } from '../save-body.ts';
import type { NpmRegistry } from './npm-config.ts';
import type { PinnedPackage } from './speech-runtime.ts';

export interface ArchiveNeeds {
  readonly registry: NpmRegistry;
  readonly fetch: Fetch;
  readonly limits: Pick<PullLimits, 'silenceMs'>;
  readonly signal: AbortSignal;
  /** Bytes that have come of this archive. */
  readonly onBytes: (bytes: number) => void;
}

/** What npm itself asks for: a page of versions and where their archives are. */
const PAGE_ACCEPT = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8';

/**
 * Downloads a package's archive to a path. It is compared with the hash that we know, not with one that the registry names.
 * @throws ServiceError `upstream-failed`; the file at the path is of no use then.
 */
export async function fetchArchive(wanted: PinnedPackage, path: string, needs: ArchiveNeeds): Promise<void> {
  const { limits, signal } = needs;
  const name = `${wanted.name}@${wanted.version}`;
  const url = await archiveUrl(wanted, needs);
  const hash = createHash('sha512');
  let bytes = 0;
  const handle = await open(path, 'w');
  const onBytes = (more: number): void => {
    bytes += more;
    // What is longer than it can be is not downloaded to its end.
    if (bytes > wanted.archiveBytes) throw unlike(name);
    needs.onBytes(bytes);
  };
  try {
    // Behind the file: Node ends with the connection of a body that nobody reads yet.
    const response = await get(url, { 'accept-encoding': 'identity' }, needs);
    await saveBody(response, { handle, hash, signal, silenceMs: limits.silenceMs, onBytes });
  } finally {
    await handle.close();
  }
  if (hash.digest('base64') !== wanted.sha512) throw unlike(name);
}

const unlike = (name: string): ServiceError =>
  new ServiceError('upstream-failed', `The archive of ${name} is another one than this version of Parley knows.`);

/** Where the registry has it. */
async function archiveUrl({ name, version }: PinnedPackage, needs: ArchiveNeeds): Promise<string> {
  const page = new URL(encodeURIComponent(name), folderUrl(needs.registry.url)).href;
  const response = await get(page, { accept: PAGE_ACCEPT }, needs);
  const text = await readBodyText(response, INDEX_PAGE_BYTES_MAX);
  const found = field(field(field(field(parse(text), 'versions'), version), 'dist'), 'tarball');
  if (typeof found === 'string' && URL.canParse(found, page)) return new URL(found, page).href;
  throw new ServiceError('upstream-failed', `The package registry has no ${name}@${version}.`);
}

const folderUrl = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

async function get(url: string, headers: Record<string, string>, needs: ArchiveNeeds): Promise<Response> {
  const { registry, signal, fetch } = needs;
  const isOwn = new URL(url).origin === new URL(registry.url).origin;
  const own = isOwn && registry.authorization !== undefined ? { authorization: registry.authorization } : {};
  try {
    const response = await fetch(url, { headers: { ...headers, ...own }, signal });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new ServiceError('upstream-failed', `The package registry answered ${response.status} for ${url}.`);
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ServiceError) throw thrown;
    const where = new URL(registry.url).origin;
    throw new ServiceError('upstream-failed', `The package registry ${where} cannot be reached: ${reasonOf(thrown)}.`, {
      cause: thrown,
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new ServiceError('upstream-failed', 'The package registry answered with something else than JSON.', {
      cause: thrown,
    });
  }
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
