import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ProgramLimits } from './child/messages.ts';
import { OutOfTime } from './out-of-time.ts';
import { startSandboxed } from './sandboxed-process.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';

/** Counts what goes into an image beside the interpreter itself (child/realm.ts): a change of that is a new number. */
const EDITION = 1;

/** Ours: bytes of an image, and ms for it to be made. It has 31 MB, and takes seconds. */
const SNAPSHOT_BYTES_MAX = 256 * 2 ** 20;
const SNAPSHOT_MS_MAX = 120_000;

/** Ours: bytes of a line with a piece of it. */
const LINE_BYTES_MAX = 8 * 2 ** 20;

interface SnapshotOptions {
  /** A folder of ours that nobody else may enter. */
  readonly folder: string;
  readonly pyodideVersion: string;
  /** Without an image yet. */
  readonly sandbox: Sandbox;
  readonly limits: ProgramLimits;
  readonly signal: AbortSignal;
}

/**
 * An image of the interpreter's memory, from which it starts in a fifth of the time; made where there is none that is as it was
 * written. Programs of any sandbox read it, so it may be read by everybody who gets at it; none but us get into its folder.
 * @returns its path.
 * @throws Error with the reason where it cannot be made; OutOfTime where that took too long.
 */
export async function openSnapshot({
  folder,
  pyodideVersion,
  sandbox,
  limits,
  signal,
}: SnapshotOptions): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const prefix = `python-${pyodideVersion}-${EDITION}-`;
  for (const name of await readdir(folder)) {
    if (name.startsWith(prefix) && (await isWhole(join(folder, name), prefix))) return join(folder, name);
  }
  const bytes = await makeSnapshot(sandbox, limits, signal);
  const path = join(folder, `${prefix}${digestOf(bytes)}.snapshot`);
  await writeWhole(path, bytes);
  return path;
}

/** Its name says what is in it. */
async function isWhole(path: string, prefix: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const status = await file.stat();
      const isOurs =
        status.isFile() && status.uid === (process.getuid?.() ?? status.uid) && (status.mode & 0o222) === 0;
      if (!isOurs || status.size > SNAPSHOT_BYTES_MAX) return false;
      return basename(path) === `${prefix}${digestOf(await file.readFile())}.snapshot`;
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Nobody sees half of it; nobody writes to it afterwards. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o444);
  try {
    await file.writeFile(bytes);
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
  const launch = sandbox.launch({ name: 'main', isSealed: true });
  const child = startSandboxed(launch, { lineBytesMax: LINE_BYTES_MAX });
  const nonce = randomBytes(12).toString('hex');
  const pieces: Buffer[] = [];
  let size = 0;
  let isWhole = false;
  let reason = '';
  child.hear((report) => {
    if (report.type === 'snapshot' && report.nonce === nonce && size <= SNAPSHOT_BYTES_MAX) {
      const piece = Buffer.from(report.bytes, 'base64');
      pieces.push(piece);
      size += piece.length;
      isWhole = piece.length === 0;
      if (!isWhole) return;
    } else if (report.type === 'broken') ({ reason } = report);
    child.kill('done');
  });
  const timer = setTimeout(() => child.kill('time'), SNAPSHOT_MS_MAX);
  const onAbort = (): void => child.kill('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  const { pyodideFolder } = launch.places;
  child.say({ type: 'start', nonce, pyodideFolder, wheelNames: [], isForSnapshot: true, limits });
  const { by, said, killed } = await child.ended;
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
  if (!isWhole && killed === 'time')
    throw new OutOfTime(`an image of the interpreter could not be made within ${SNAPSHOT_MS_MAX} ms`);
  if (!isWhole) throw new Error(`no image of the interpreter could be made: ${reason || said.trim() || by}`);
  return Buffer.concat(pieces);
}
