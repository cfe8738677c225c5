import { createHash, type Hash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../core/error.ts';
import { HUB_EMPTY_ATTEMPTS_MAX, HUB_RESTARTS_MAX } from './limits.ts';
import type { WeightsSource } from '../core/weights.ts';
import type { VerifiedDownload } from './weights-file-record.ts';
import { checkDiskSpace, statIfExists, readJsonIfValid } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import { requestHubFile, type HubResponse } from './request-hub-file.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { Fetch, PullLimits } from './pull-limits.ts';
import { saveBody } from './save-body.ts';
import { describeSource } from './weights-files.ts';
import { z } from 'zod';
import { replaceFile } from '../lib/durable-file.ts';
import { nameFileInError } from '../lib/name-file-in-error.ts';

/** Facts about a partial download that are needed to resume it. Stored beside the partial file. */
const HubState = z.object({
  url: z.string(),
  etag: z.string().exactOptional(),
  sha256: z.string().exactOptional(),
  sizeBytes: z.number().exactOptional(),
});

type HubState = Readonly<z.infer<typeof HubState>>;

/** Reads the state. Returns undefined when it is missing or unreadable: the download then starts again. */
const readHubState = (path: string): Promise<HubState | undefined> => readJsonIfValid(path, HubState);

const writeHubState = (path: string, state: HubState): Promise<void> =>
  replaceFile(path, JSON.stringify(state), { mode: 0o644 });

type HubSource = Extract<WeightsSource, { type: 'hub' }>;

export interface HubDownloadDeps {
  readonly hubUrl: string;
  readonly partialPath: string;
  readonly statePath: string;
  readonly fetch: Fetch;
  readonly limits: PullLimits;
  /** Whether to download the file also if neither the source nor the hub states its hash. */
  readonly trust: boolean;
  readonly meter: ProgressMeter;
  readonly signal: AbortSignal;
}

/**
 * Downloads a file from a hub; an interrupted download resumes at its last byte.
 *
 * Verifies the hash that the catalogue states, otherwise the one that the hub announces; deletes the file on a
 * mismatch. Refuses a file before its first byte if the two hashes differ, or if there is none and it is not trusted.
 * The result is not yet at its final path.
 * @throws ServiceError `upstream-failed`; `storage-quota` when the disk has too little free space.
 */
export async function fetchFromHub(source: HubSource, deps: HubDownloadDeps): Promise<VerifiedDownload> {
  const { partialPath, signal, limits } = deps;
  const path = source.file.split('/').map(encodeURIComponent).join('/');
  const url = `${deps.hubUrl.replace(/\/+$/, '')}/${source.repository}/resolve/${encodeURIComponent(source.revision)}/${path}`;

  const hubDownload = await resumeDownload(url, deps);
  for (let emptyAttempts = 0; !isComplete(hubDownload);) {
    const before = hubDownload.doneBytes;
    try {
      await runAttempt(hubDownload, source, deps);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof ServiceError) || thrown.kind !== 'upstream-failed' || hubDownload.isRefused) throw thrown;
      emptyAttempts = hubDownload.doneBytes > before ? 0 : emptyAttempts + 1;
      // A hub that has not sent any byte of the file is given up at once: another source may have it.
      if (emptyAttempts >= HUB_EMPTY_ATTEMPTS_MAX || !hubDownload.isReached) throw thrown;
      if (emptyAttempts > 0) await delay(limits.retryMs, undefined, { signal });
    }
  }

  await refuseUnknownContent(hubDownload, source, deps);
  const sha256 = hubDownload.hash.digest('hex');
  const expected = source.sha256 ?? hubDownload.state.sha256;
  if (expected !== undefined && expected !== sha256) {
    await deletePartialFiles(deps);
    throw new ServiceError(
      'upstream-failed',
      `The download has unexpected content: its SHA-256 is ${sha256}, but the ${source.sha256 ? 'catalogue' : 'hub'} states ${expected}. It was deleted.`,
    );
  }
  const verified = source.sha256 ? 'catalogue' : hubDownload.state.sha256 ? 'announced' : 'none';
  return { path: partialPath, sizeBytes: hubDownload.doneBytes, sha256, verified, source: describeSource(source) };
}

/** State of one download over all its attempts. `hash` covers exactly the first `doneBytes` bytes. */
interface HubDownload {
  state: HubState;
  doneBytes: number;
  hash: Hash;
  /** The hub refused the request, so that a further attempt is useless. */
  isRefused: boolean;
  /** The hub has started to send the file. */
  isReached: boolean;
  /** Number of times that the partial file was discarded. */
  restarts: number;
}

const isComplete = ({ state, doneBytes }: HubDownload): boolean =>
  state.sizeBytes !== undefined && doneBytes === state.sizeBytes;

/** Tells whether a later response can be matched with the partial file: that takes an ETag or a hash. */
const canIdentifyFile = ({ etag, sha256 }: HubState): boolean => etag !== undefined || sha256 !== undefined;

async function resumeDownload(url: string, deps: HubDownloadDeps): Promise<HubDownload> {
  const state = await readHubState(deps.statePath);
  const doneBytes = (await statIfExists(deps.partialPath))?.size ?? 0;
  const canResume = state?.url === url && canIdentifyFile(state) && doneBytes > 0;
  if (!canResume || (state.sizeBytes !== undefined && doneBytes > state.sizeBytes)) {
    await deletePartialFiles(deps);
    return {
      state: { url },
      doneBytes: 0,
      hash: createHash('sha256'),
      isRefused: false,
      isReached: false,
      restarts: 0,
    };
  }
  return {
    state,
    doneBytes,
    hash: await hashFile(deps.partialPath, deps),
    isRefused: false,
    isReached: false,
    restarts: 0,
  };
}

/** Sends one request and appends the bytes it returns. Resolves when the response has ended. */
async function runAttempt(hubDownload: HubDownload, source: HubSource, deps: HubDownloadDeps): Promise<void> {
  if (hubDownload.doneBytes > 0 && !canIdentifyFile(hubDownload.state)) await restartDownload(hubDownload, deps);
  const { url, etag } = hubDownload.state;
  const range =
    hubDownload.doneBytes > 0
      ? { range: `bytes=${hubDownload.doneBytes}-`, ...(etag ? { 'if-range': etag } : {}) }
      : {};
  const hubResponse = await requestHubFile(url, range, { ...deps, connectMs: deps.limits.connectMs });
  const { response } = hubResponse;
  if (!response.ok) {
    await response.body?.cancel();
    // 416: the partial file is longer than the hub's file, so that it belongs to another file.
    if (response.status === 416 && hubDownload.doneBytes > 0) return restartDownload(hubDownload, deps);
    hubDownload.isRefused = response.status < 500 && response.status !== 408 && response.status !== 429;
    throw new ServiceError('upstream-failed', `The hub returned status ${response.status} for ${url}.`);
  }
  const contentRange = response.status === 206 ? parseContentRange(response) : undefined;
  if ((hubDownload.doneBytes > 0 || contentRange) && !isContinuation(hubDownload, hubResponse, contentRange)) {
    const isWhole = response.status === 200;
    await restartDownload(hubDownload, deps);
    if (!isWhole) {
      await response.body?.cancel(); // the next attempt requests the whole file
      return;
    }
  }
  hubDownload.isReached = true;
  await saveHubState(hubDownload, hubResponse, contentRange, deps);
  const bytesMax = hubDownload.state.sizeBytes ?? deps.limits.unstatedBytesMax;
  try {
    await refuseUnknownContent(hubDownload, source, deps);
    await checkDiskSpace(dirname(deps.partialPath), bytesMax - hubDownload.doneBytes, deps.limits.diskReserveBytes);
  } catch (thrown) {
    await response.body?.cancel();
    throw thrown;
  }

  const handle = await open(deps.partialPath, hubDownload.doneBytes > 0 ? 'a' : 'w');
  const reportProgress = (): void =>
    deps.meter.update({ doneBytes: hubDownload.doneBytes, totalBytes: hubDownload.state.sizeBytes });
  try {
    reportProgress();
    const onBytes = (bytes: number): void => {
      hubDownload.doneBytes += bytes;
      reportProgress();
      // Also a compressed body, whose length is that before its decompression.
      if (hubDownload.doneBytes > bytesMax) throw createTooLongError(bytesMax);
    };
    const body = { ...deps, handle, hash: hubDownload.hash, stallMs: deps.limits.stallMs, onBytes };
    await nameFileInError(deps.partialPath, saveBody(response, body));
  } catch (thrown) {
    if (hubDownload.doneBytes > bytesMax) {
      hubDownload.isRefused = true;
      await deletePartialFiles(deps);
    }
    throw thrown;
  } finally {
    await handle.close();
  }
  const { sizeBytes } = hubDownload.state;
  if (sizeBytes === undefined) hubDownload.state = { ...hubDownload.state, sizeBytes: hubDownload.doneBytes };
  if (sizeBytes === undefined || hubDownload.doneBytes === sizeBytes) return;
  throw new ServiceError('upstream-failed', `The hub announced ${sizeBytes} bytes but sent a different number.`);
}

/** Refuses a file whose hash is unknown, unless it is trusted, and one whose announced hash is not the pinned one. */
async function refuseUnknownContent(hubDownload: HubDownload, source: HubSource, deps: HubDownloadDeps): Promise<void> {
  const { sha256: announced } = hubDownload.state;
  const isUnknown = source.sha256 === undefined && announced === undefined;
  const isOther = source.sha256 !== undefined && announced !== undefined && source.sha256 !== announced;
  if ((!isUnknown || deps.trust) && !isOther) return;
  await deletePartialFiles(deps);
  hubDownload.isRefused = true;
  throw new ServiceError(
    'upstream-failed',
    isOther
      ? `The hub announces another file: its SHA-256 is ${announced}, but the catalogue states ${source.sha256}.`
      : 'The content of the file cannot be verified: neither the configuration nor the hub states its SHA-256. Set sha256 beside hub in the configuration, or trust: true to accept any content (once: parley models pull --trust).',
  );
}
const createTooLongError = (bytesMax: number): ServiceError =>
  new ServiceError(
    'upstream-failed',
    `The hub sent more than ${bytesMax} bytes: the size that it states, or the limit if it states none.`,
  );

interface ContentRange {
  readonly startByte: number;
  readonly sizeBytes: number | undefined;
}

function parseContentRange(response: Response): ContentRange | undefined {
  const match = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '');
  return match
    ? { startByte: Number(match[1]), sizeBytes: match[2] === '*' ? undefined : Number(match[2]) }
    : undefined;
}

/** Tells whether the response continues the partial file: the range starts at its end and the file is the same. */
function isContinuation(
  { state, doneBytes }: HubDownload,
  hubResponse: HubResponse,
  contentRange: ContentRange | undefined,
): boolean {
  if (contentRange?.startByte !== doneBytes) return false;
  if (hubResponse.sha256 !== undefined && state.sha256 !== undefined && hubResponse.sha256 !== state.sha256)
    return false;
  return (
    contentRange.sizeBytes === undefined || state.sizeBytes === undefined || contentRange.sizeBytes === state.sizeBytes
  );
}

/** Saves what the response says about the file, before any of its bytes is written. */
async function saveHubState(
  hubDownload: HubDownload,
  hubResponse: HubResponse,
  contentRange: ContentRange | undefined,
  deps: HubDownloadDeps,
): Promise<void> {
  const length = Number(hubResponse.response.headers.get('content-length') ?? Number.NaN);
  const responseSizeBytes =
    hubResponse.response.status === 200 && Number.isSafeInteger(length) ? length : contentRange?.sizeBytes;
  const sizeBytes = responseSizeBytes ?? hubResponse.sizeBytes ?? hubDownload.state.sizeBytes;
  hubDownload.state = {
    ...hubDownload.state,
    ...(hubResponse.etag ? { etag: hubResponse.etag } : {}),
    ...(hubResponse.sha256 ? { sha256: hubResponse.sha256 } : {}),
    ...(sizeBytes ? { sizeBytes } : {}),
  };
  await writeHubState(deps.statePath, hubDownload.state);
}

async function restartDownload(hubDownload: HubDownload, deps: HubDownloadDeps): Promise<void> {
  await deletePartialFiles(deps);
  hubDownload.state = { url: hubDownload.state.url };
  hubDownload.doneBytes = 0;
  hubDownload.hash = createHash('sha256');
  hubDownload.restarts++;
  if (hubDownload.restarts <= HUB_RESTARTS_MAX) return;
  hubDownload.isRefused = true;
  throw new ServiceError(
    'upstream-failed',
    `The hub returned a different file on each attempt for ${hubDownload.state.url}.`,
  );
}

async function deletePartialFiles({ partialPath, statePath }: HubDownloadDeps): Promise<void> {
  await rm(partialPath, { force: true });
  await rm(statePath, { force: true });
}
