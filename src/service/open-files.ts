import { join } from 'node:path';
import type { BlobStore } from '../blobs/blob-store.ts';
import { createVerifiedBlobStore } from '../blobs/verified-blob-store.ts';
import { postponeDeletions } from '../blobs/postponed-deletions.ts';
import { getBackupLockPath } from '../backup/backup-lock.ts';
import type { Config } from '../config/config.ts';
import type { RegionId } from '../core/region.ts';
import { isFileLocked } from '../lib/file-lock.ts';
import { createCompatibleFilesEndpoints } from '../protocols/compatible/files/endpoints.ts';
import { createUploadEndpoints } from '../protocols/compatible/uploads/endpoints.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { createNativeFilesEndpoints } from '../protocols/native/files/endpoints.ts';
import type { FileLimits } from '../resources/files/file.ts';
import { createSignedLinks, DOWNLOADS_PATH, type SignedLinks } from '../resources/files/signed-links.ts';
import { createFiles } from '../resources/files/service.ts';
import { startFileGarbageCollection } from '../resources/files/garbage-collection.ts';
import { createExtractionWaiter } from '../resources/texts/extraction-waiter.ts';
import { createTexts } from '../resources/texts/service.ts';
import { openConfiguredBlobs } from './open-components.ts';
import type { ServiceContext } from './service-context.ts';
import { readOrCreateSecret } from './read-or-create-secret.ts';

interface FilesModuleDeps {
  /** Returns the URL at which a region's own listener is reached; used when `publicUrl` is not configured. */
  readonly getListenUrl: (region: RegionId) => string;
  /** Counts a read that found a damaged blob. */
  readonly recordDamage: () => void;
}

/** Opens everything for files: the blob store, the secret of signed links, the endpoints, and the periodic cleanup. */
export async function openFiles(
  { config, environment, store, clock, log, keys, jobNotifier, runsCleanup }: ServiceContext,
  { getListenUrl, recordDamage }: FilesModuleDeps,
) {
  // Nothing that can fail follows the first part that must be closed. Deleting the secret invalidates all issued links.
  const secret = await readOrCreateSecret(join(config.data, 'download-secret'));
  const unverified = await openConfiguredBlobs(config, environment);
  const verified = createVerifiedBlobStore(unverified, {
    hashes: store.blobHashes,
    onDamage(damage) {
      log.error('stored file is damaged; `parley check` lists all', { ...damage });
      recordDamage();
    },
  });
  const isHeld = (): boolean => isFileLocked(getBackupLockPath(config.data));
  const blobs: BlobStore = postponeDeletions(verified, { isHeld, log });
  const getLimits = (workspace: string): FileLimits => getFileLimits(config, workspace);
  const extractionWaiter = createExtractionWaiter();
  const files = createFiles({
    store,
    blobs,
    clock,
    log,
    notifier: jobNotifier,
    getLimits,
    waitForTexts: extractionWaiter.wait,
  });
  const texts = createTexts({ store, blobs });
  const cleanup = runsCleanup ? startFileGarbageCollection({ store, blobs, clock, log }) : undefined;
  const getBaseUrl = (region: RegionId): string => config.publicUrl ?? getListenUrl(region);
  /** Creates signed links whose URL path begins with `path`; `seconds` is their validity. */
  const createLinksBelow = (path: string, seconds: number): SignedLinks =>
    createSignedLinks({ secret, getBaseUrl, lifetimeSeconds: seconds, path, isKeyActive: keys.isActive, clock });
  const links = createLinksBelow(DOWNLOADS_PATH, config.files.urlSeconds);
  const time = createZonedTime(config.timezone);
  const largestLimits = getLargestLimits(config);
  return {
    files,
    texts,
    blobs,
    reportExtractionEnd: extractionWaiter.reportEnd,
    getLimits,
    createLinksBelow,
    /** Largest file that any workspace may upload, in bytes. */
    fileBytesMax: largestLimits.fileBytesMax,
    endpoints: [
      ...createNativeFilesEndpoints({ files, links, texts, time, uploadBytesMax: largestLimits.totalBytesMax }),
      ...createCompatibleFilesEndpoints({
        files,
        texts,
        time,
        fileBytesMax: largestLimits.fileBytesMax,
        strict: config.strict,
      }),
      ...createUploadEndpoints({ files, texts, strict: config.strict }),
    ],
    async close() {
      await cleanup?.close();
      await files.close();
      await blobs.close();
    },
  };
}

function getFileLimits({ files }: Config, workspace: string): FileLimits {
  const workspaceLimits = Object.hasOwn(files.workspaces, workspace) ? files.workspaces[workspace] : undefined;
  return {
    fileBytesMax: workspaceLimits?.fileBytesMax ?? files.fileBytesMax,
    totalBytesMax: workspaceLimits?.totalBytesMax ?? files.totalBytesMax,
    countMax: workspaceLimits?.countMax ?? files.countMax,
  };
}

/** Returns the largest limits of all workspaces: a body needs a limit before its workspace is known. */
function getLargestLimits(config: Config): Pick<FileLimits, 'fileBytesMax' | 'totalBytesMax'> {
  const allLimits = ['', ...Object.keys(config.files.workspaces)].map((workspace) => getFileLimits(config, workspace));
  return {
    fileBytesMax: Math.max(...allLimits.map(({ fileBytesMax }) => fileBytesMax)),
    totalBytesMax: Math.max(...allLimits.map(({ totalBytesMax }) => totalBytesMax)),
  };
}

export type FilesModule = Awaited<ReturnType<typeof openFiles>>;
