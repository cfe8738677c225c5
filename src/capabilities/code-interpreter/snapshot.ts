import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ProgramLimits } from './child/messages.ts';
import { SandboxTimeoutError } from './sandbox-timeout-error.ts';
import { startSandboxedProcess } from './sandboxed-process.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';
import { nameFileInError } from '../../lib/name-file-in-error.ts';

/** Version of the snapshot's content beside the interpreter (child/realm.ts): increment it with each change. */
const SNAPSHOT_VERSION = 1;

/** Chosen: limits of the size of a snapshot and of the time to create it. A snapshot has 31 MB and takes seconds. */
const SNAPSHOT_BYTES_MAX = 256 * 2 ** 20;
const SNAPSHOT_MS_MAX = 120_000;

/** Chosen: maximum bytes of a line, which contains one chunk. */
const LINE_BYTES_MAX = 8 * 2 ** 20;

interface SnapshotOptions {
  /** Folder of Parley that no other user may enter. */
  readonly folder: string;
  readonly pyodideVersion: string;
  /** A sandbox without a snapshot. */
  readonly sandbox: Sandbox;
  readonly limits: ProgramLimits;
  readonly signal: AbortSignal;
}

/**
 * Ensures that there is a snapshot of the interpreter's memory, from which it starts in a fifth of the time. Reuses a
 * file whose digest matches its name. Programs of any sandbox may read the file, but only Parley's user may enter its
 * folder.
 * @returns its path.
 * @throws Error with the reason; SandboxTimeoutError if creating it took too long.
 */
export async function ensureSnapshot({
  folder,
  pyodideVersion,
  sandbox,
  limits,
  signal,
}: SnapshotOptions): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const prefix = `python-${pyodideVersion}-${SNAPSHOT_VERSION}-`;
  for (const name of await readdir(folder)) {
    if (name.startsWith(prefix) && (await isIntact(join(folder, name), prefix))) return join(folder, name);
  }
  const bytes = await makeSnapshot(sandbox, limits, signal);
  const path = join(folder, `${prefix}${computeDigest(bytes)}.snapshot`);
  await writeAtomically(path, bytes);
  return path;
}

/** Whether the digest in the name matches the content. */
async function isIntact(path: string, prefix: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const status = await file.stat();
      const isTrusted =
        status.isFile() && status.uid === (process.getuid?.() ?? status.uid) && (status.mode & 0o222) === 0;
      if (!isTrusted || status.size > SNAPSHOT_BYTES_MAX) return false;
      return basename(path) === `${prefix}${computeDigest(await file.readFile())}.snapshot`;
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}

const computeDigest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Writes to a temporary file and renames it, so that no incomplete file is visible; makes it read-only. */
async function writeAtomically(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o444);
  try {
    await nameFileInError(temporary, file.writeFile(bytes));
    await file.chmod(0o444);
    await file.sync();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function makeSnapshot(sandbox: Sandbox, limits: ProgramLimits, signal: AbortSignal): Promise<Uint8Array> {
  const launch = sandbox.launch({ name: 'main', usesPermissions: true, usesFilter: true });
  const child = startSandboxedProcess(launch, LINE_BYTES_MAX);
  const nonce = randomBytes(12).toString('hex');
  const pieces: Buffer[] = [];
  let size = 0;
  let isComplete = false;
  let reason = '';
  child.setListener((report) => {
    if (report.type === 'snapshot' && report.nonce === nonce && size <= SNAPSHOT_BYTES_MAX) {
      const piece = Buffer.from(report.bytes, 'base64');
      pieces.push(piece);
      size += piece.length;
      isComplete = piece.length === 0;
      if (!isComplete) return;
    } else if (report.type === 'broken') ({ reason } = report);
    child.kill('done');
  });
  const timer = setTimeout(() => child.kill('time'), SNAPSHOT_MS_MAX);
  const onAbort = (): void => child.kill('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  const { pyodideFolder } = launch.paths;
  child.send({ type: 'start', nonce, pyodideFolder, wheelNames: [], makesSnapshot: true, limits });
  const { cause, stderr, killReason } = await child.termination;
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
  if (!isComplete && killReason === 'time')
    throw new SandboxTimeoutError(`the snapshot of the interpreter could not be created within ${SNAPSHOT_MS_MAX} ms`);
  if (!isComplete)
    throw new Error(`the snapshot of the interpreter could not be created: ${reason || stderr.trim() || cause}`);
  return Buffer.concat(pieces);
}
