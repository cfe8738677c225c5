import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './find-free-port.ts';
import { isProcessRunning } from '../lib/is-process-running.ts';

/** Linux allows 108 bytes, and macOS 104, for the path of a socket. */
const SOCKET_PATH_BYTES_MAX = 100;

/** The address of an engine process, and the folder for its files. */
export interface RunLocation {
  readonly stateFolder: string;
  /** Path of a Unix domain socket, or 127.0.0.1:port. */
  readonly socket: string;
  /** Secret that requests must present; only set where other users could reach the socket. */
  readonly token?: string;
  remove(): void;
}

/**
 * Creates a folder with mode 0700 for saved states and the socket. If the path of the socket would be too long, the
 * socket goes to a temporary folder of the system. States never go there, because only the run folder is cleaned up.
 */
export async function createRunLocation(runFolder: string): Promise<RunLocation> {
  removeStaleFolders(runFolder);
  const stateFolder = join(runFolder, `${PROCESS_KEY}-${randomBytes(4).toString('hex')}`);
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  chmodSync(stateFolder, 0o700);
  if (process.platform === 'win32')
    return {
      stateFolder,
      socket: `127.0.0.1:${await findFreePort()}`,
      token: randomBytes(32).toString('hex'),
      remove: createRemover(stateFolder),
    };
  const isShort = Buffer.byteLength(join(stateFolder, 'engine.sock')) < SOCKET_PATH_BYTES_MAX;
  const folder = isShort ? stateFolder : mkdtempSync(join(tmpdir(), 'parley-'));
  chmodSync(folder, 0o700);
  return { stateFolder, socket: join(folder, 'engine.sock'), remove: createRemover(folder, stateFolder) };
}

const createRemover =
  (...folders: readonly string[]) =>
  (): void => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  };

/**
 * Identifies this process, also among processes with the same pid: in a container, every start may get the same pid.
 */
const PROCESS_KEY = `${process.pid}-${Math.floor(performance.timeOrigin).toString(36)}`;

/** Deletes the folders of processes that were killed before they could do so. */
function removeStaleFolders(runFolder: string): void {
  if (!existsSync(runFolder)) return;
  for (const name of readdirSync(runFolder)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1]);
    const isStale = pid === process.pid ? !name.startsWith(`${PROCESS_KEY}-`) : pid > 0 && !isProcessRunning(pid);
    if (isStale) rmSync(join(runFolder, name), { recursive: true, force: true });
  }
}
