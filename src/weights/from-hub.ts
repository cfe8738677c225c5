import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../core/error.ts';
import { HUB_FRUITLESS_ATTEMPTS_MAX, HUB_RESTARTS_MAX } from '../core/limits.ts';
import type { WeightsSource } from '../core/weights.ts';
import type { FetchedFile } from './fetched-file.ts';
import { checkDiskSpace, statOf } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import type { HubAnswer } from './hub-connection.ts';
import { askHub } from './hub-connection.ts';
import type { HubState } from './hub-state.ts';
import { readHubState, writeHubState } from './hub-state.ts';
import type { ProgressMeter } from './progress.ts';
import type { Fetch, PullLimits } from './pull-options.ts';
import { saveBody } from './save-body.ts';
import { describeSource } from './weights-files.ts';

type HubSource = Extract<WeightsSource, { type: 'hub' }>;

export interface HubNeeds {
  readonly hubUrl: string;
  readonly partialPath: string;
  readonly statePath: string;
  readonly fetch: Fetch;
  readonly limits: PullLimits;
  readonly meter: ProgressMeter;
  readonly signal: AbortSignal;
}

/**
 * Downloads a file of a hub and goes on by byte where an earlier run stopped.
 *
 * The result is complete and compared with the catalogue's hash, else with the one the hub announced; it does not have
 * its final name yet. What does not compare is deleted.
 * @throws ServiceError `upstream-failed`; `storage-quota` when the disk is too small.
 */
export async function fetchFromHub(source: HubSource, needs: HubNeeds): Promise<FetchedFile> {
  const { partialPath, signal, limits } = needs;
  const path = source.file.split('/').map(encodeURIComponent).join('/');
  const url = `${needs.hubUrl.replace(/\/+$/, '')}/${source.repository}/resolve/${encodeURIComponent(source.revision)}/${path}`;

  const run = await resume(url, needs);
  for (let fruitless = 0; !isComplete(run);) {
    const before = run.doneBytes;
    try {
      await attempt(run, needs);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof ServiceError) || thrown.kind !== 'upstream-failed' || run.isRefused) throw thrown;
      fruitless = run.doneBytes > before ? 0 : fruitless + 1;
      // A hub that never gave the file is not worth the wait: there may be another source.
      if (fruitless >= HUB_FRUITLESS_ATTEMPTS_MAX || !run.isReached) throw thrown;
      if (fruitless > 0) await delay(limits.retryMs, undefined, { signal });
    }
  }

  const sha256 = run.hash.digest('hex');
  const expected = source.sha256 ?? run.state.sha256;
  if (expected !== undefined && expected !== sha256) {
    await forget(needs);
    throw new ServiceError(
      'upstream-failed',
      `The file has another content than ${source.sha256 ? 'the catalogue' : 'the hub'} says (sha256 ${sha256}, expected ${expected}); the download was deleted.`,
    );
  }
  const verified = source.sha256 ? 'catalogue' : run.state.sha256 ? 'announced' : 'none';
  return { path: partialPath, sizeBytes: run.doneBytes, sha256, verified, source: describeSource(source) };
}

/** One download over all its attempts. `hash` has seen exactly `doneBytes`. */
interface Run {
  state: HubState;
  doneBytes: number;
  hash: Hash;
  /** The hub has answered, and its answer is no. */
  isRefused: boolean;
  /** The hub has begun to send the file. */
  isReached: boolean;
  /** How often what was there had to be thrown away. */
  restarts: number;
}

const isComplete = ({ state, doneBytes }: Run): boolean =>
  state.sizeBytes !== undefined && doneBytes === state.sizeBytes;

/** Without a tag or a hash nothing tells whether the hub's file is still the one that we have a part of. */
const canTell = ({ etag, sha256 }: HubState): boolean => etag !== undefined || sha256 !== undefined;

async function resume(url: string, needs: HubNeeds): Promise<Run> {
  const state = await readHubState(needs.statePath);
  const doneBytes = (await statOf(needs.partialPath))?.size ?? 0;
  const canGoOn = state?.url === url && canTell(state) && doneBytes > 0;
  if (!canGoOn || (state.sizeBytes !== undefined && doneBytes > state.sizeBytes)) {
    await forget(needs);
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
    hash: await hashFile(needs.partialPath, needs),
    isRefused: false,
    isReached: false,
    restarts: 0,
  };
}

/** One request and the bytes it brings. Returns when the response has ended. */
async function attempt(run: Run, needs: HubNeeds): Promise<void> {
  if (run.doneBytes > 0 && !canTell(run.state)) await startAnew(run, needs);
  const { url, etag } = run.state;
  const range = run.doneBytes > 0 ? { range: `bytes=${run.doneBytes}-`, ...(etag ? { 'if-range': etag } : {}) } : {};
  const answer = await askHub(url, range, { ...needs, connectMs: needs.limits.connectMs });
  const { response } = answer;
  if (!response.ok) {
    await response.body?.cancel();
    // 416: our part is longer than the hub's file, so it is a part of another one.
    if (response.status === 416 && run.doneBytes > 0) return startAnew(run, needs);
    run.isRefused = response.status < 500 && response.status !== 408 && response.status !== 429;
    throw new ServiceError('upstream-failed', `The hub answered ${response.status} for ${url}.`);
  }
  const part = response.status === 206 ? contentRange(response) : undefined;
  if ((run.doneBytes > 0 || part) && !continues(run, answer, part)) {
    const isWhole = response.status === 200;
    await startAnew(run, needs);
    if (!isWhole) {
      await response.body?.cancel(); // the next attempt asks for the whole file
      return;
    }
  }
  run.isReached = true;
  await learn(run, answer, part, needs);
  await checkDiskSpace(
    dirname(needs.partialPath),
    (run.state.sizeBytes ?? 0) - run.doneBytes,
    needs.limits.diskReserveBytes,
  ).catch(async (thrown: unknown) => {
    await response.body?.cancel();
    throw thrown;
  });

  const handle = await open(needs.partialPath, run.doneBytes > 0 ? 'a' : 'w');
  const tell = (): void => needs.meter.set({ doneBytes: run.doneBytes, totalBytes: run.state.sizeBytes });
  try {
    tell();
    const onBytes = (bytes: number): void => {
      run.doneBytes += bytes;
      tell();
    };
    await saveBody(response, { ...needs, handle, hash: run.hash, silenceMs: needs.limits.silenceMs, onBytes });
  } finally {
    await handle.close();
  }
  const { sizeBytes } = run.state;
  if (sizeBytes === undefined) run.state = { ...run.state, sizeBytes: run.doneBytes }; // it ended without an error
  if (sizeBytes === undefined || run.doneBytes === sizeBytes) return;
  if (run.doneBytes > sizeBytes) await startAnew(run, needs);
  throw new ServiceError('upstream-failed', `The hub sent another number of bytes than it said (${sizeBytes}).`);
}

interface Part {
  readonly startByte: number;
  readonly sizeBytes: number | undefined;
}

function contentRange(response: Response): Part | undefined {
  const match = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '');
  return match
    ? { startByte: Number(match[1]), sizeBytes: match[2] === '*' ? undefined : Number(match[2]) }
    : undefined;
}

/** The bytes that come follow ours, and are of the same file. */
function continues({ state, doneBytes }: Run, answer: HubAnswer, part: Part | undefined): boolean {
  if (part?.startByte !== doneBytes) return false;
  if (answer.sha256 !== undefined && state.sha256 !== undefined && answer.sha256 !== state.sha256) return false;
  return part.sizeBytes === undefined || state.sizeBytes === undefined || part.sizeBytes === state.sizeBytes;
}

/** Keeps what the answer says of the file before its bytes are kept. */
async function learn(run: Run, answer: HubAnswer, part: Part | undefined, needs: HubNeeds): Promise<void> {
  const length = Number(answer.response.headers.get('content-length') ?? Number.NaN);
  const whole = answer.response.status === 200 && Number.isSafeInteger(length) ? length : part?.sizeBytes;
  const sizeBytes = whole ?? answer.sizeBytes ?? run.state.sizeBytes;
  run.state = {
    ...run.state,
    ...(answer.etag ? { etag: answer.etag } : {}),
    ...(answer.sha256 ? { sha256: answer.sha256 } : {}),
    ...(sizeBytes ? { sizeBytes } : {}),
  };
  await writeHubState(needs.statePath, run.state);
}

async function startAnew(run: Run, needs: HubNeeds): Promise<void> {
  await forget(needs);
  run.state = { url: run.state.url };
  run.doneBytes = 0;
  run.hash = createHash('sha256');
  run.restarts++;
  if (run.restarts <= HUB_RESTARTS_MAX) return;
  run.isRefused = true;
  throw new ServiceError('upstream-failed', `The hub sends another file each time it is asked for ${run.state.url}.`);
}

async function forget({ partialPath, statePath }: HubNeeds): Promise<void> {
  await rm(partialPath, { force: true });
  await rm(statePath, { force: true });
}
