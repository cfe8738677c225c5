import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openBlobs } from '../blobs/open-blobs.ts';
import type { Config } from '../config/config.ts';
import type { RegionId } from '../core/region.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import { createFile } from '../lib/durable-file.ts';
import { compatibleFiles } from '../protocols/compatible/files/endpoints.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { nativeFiles } from '../protocols/native/files/endpoints.ts';
import type { FileLimits, Files } from '../resources/files/file.ts';
import { createLinks } from '../resources/files/links.ts';
import { createFiles } from '../resources/files/service.ts';
import { startFileSweep } from '../resources/files/sweep.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import { createTexts } from '../resources/texts/service.ts';
import type { Texts } from '../resources/texts/service.ts';
import type { Store } from '../store/store.ts';

export interface OpenFilesNeeds {
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly bell: JobBell;
  /** Where a region's own listener is reached, for those who have said nothing else. */
  readonly listensAt: (region: RegionId) => string;
  /** Of several processes one sweeps for all. */
  readonly sweeps: boolean;
}

export interface OpenedFiles {
  readonly files: Files;
  readonly texts: Texts;
  readonly blobs: BlobStore;
  readonly limitsOf: (workspace: string) => FileLimits;
  readonly endpoints: readonly Endpoint[];
  close(): Promise<void>;
}

/** Files with all that belongs to them: their bytes, the secret of their addresses, their endpoints, their sweeper. */
export async function openFiles(needs: OpenFilesNeeds): Promise<OpenedFiles> {
  const { config, environment, store, clock, log, bell, listensAt, sweeps } = needs;
  const { url } = config.blobs;
  const blobs: BlobStore = await openBlobs({ url, folder: join(config.data, 'blobs'), environment });
  const limits = (workspace: string): FileLimits => limitsOf(config, workspace);
  const files = createFiles({ store, blobs, clock, log, bell, limitsOf: limits });
  const texts = createTexts({ store, blobs });
  const sweeper = sweeps ? startFileSweep({ store, blobs, clock, log }) : undefined;
  const links = createLinks({
    secret: await downloadSecret(join(config.data, 'download-secret')),
    baseOf: (region) => config.publicUrl ?? listensAt(region),
    seconds: config.files.urlSeconds,
    clock,
  });
  const time = createZonedTime(config.timezone);
  const most = largestOf(config);
  return {
    files,
    texts,
    blobs,
    limitsOf: limits,
    endpoints: [
      ...nativeFiles({ files, links, texts, time, uploadBytesMax: most.totalBytesMax }),
      ...compatibleFiles({ files, texts, time, fileBytesMax: most.fileBytesMax, strict: config.strict }),
    ],
    async close() {
      await sweeper?.close();
      await files.close();
      await blobs.close();
    },
  };
}

function limitsOf({ files }: Config, workspace: string): FileLimits {
  const own = Object.hasOwn(files.workspaces, workspace) ? files.workspaces[workspace] : undefined;
  return {
    fileBytesMax: own?.fileBytesMax ?? files.fileBytesMax,
    totalBytesMax: own?.totalBytesMax ?? files.totalBytesMax,
    countMax: own?.countMax ?? files.countMax,
  };
}

/** A body is bounded before anybody knows whose it is. */
function largestOf(config: Config): Pick<FileLimits, 'fileBytesMax' | 'totalBytesMax'> {
  const all = ['', ...Object.keys(config.files.workspaces)].map((workspace) => limitsOf(config, workspace));
  return {
    fileBytesMax: Math.max(...all.map(({ fileBytesMax }) => fileBytesMax)),
    totalBytesMax: Math.max(...all.map(({ totalBytesMax }) => totalBytesMax)),
  };
}

/** Made at the first start. Whoever removes it makes all addresses that were given out invalid. */
async function downloadSecret(file: string): Promise<string> {
  await createFile(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return (await readFile(file, 'utf8')).trim();
}
