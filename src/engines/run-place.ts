import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** Linux allows 108 bytes, macOS 104, for the path of a socket. */
const SOCKET_PATH_BYTES_MAX = 100;

/** Where an engine process is reached, and where it may write. */
export interface RunPlace {
  readonly stateFolder: string;
  /** Path of a Unix domain socket, or 127.0.0.1:port. */
  readonly socket: string;
  /** What callers must say where others could reach the socket too. */
  readonly token?: string;
  remove(): void;
}

/**
 * States and a socket in a folder that is closed to others. Where the socket's path would be too long, it has one under
 * the system's own; states never go there, for only the run folder is swept.
 */
export async function choosePlace(runFolder: string): Promise<RunPlace> {
  sweep(runFolder);
  const stateFolder = join(runFolder, `${LIFE}-${randomBytes(4).toString('hex')}`);
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  chmodSync(stateFolder, 0o700);
  if (process.platform === 'win32')
    return {
      stateFolder,
      socket: `127.0.0.1:${await freePort()}`,
      token: randomBytes(32).toString('hex'),
      remove: removing(stateFolder),
    };
  const isShort = Buffer.byteLength(join(stateFolder, 'engine.sock')) < SOCKET_PATH_BYTES_MAX;
  const folder = isShort ? stateFolder : mkdtempSync(join(tmpdir(), 'parley-'));
  chmodSync(folder, 0o700);
  return { stateFolder, socket: join(folder, 'engine.sock'), remove: removing(folder, stateFolder) };
}

const removing =
  (...folders: readonly string[]) =>
  (): void => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  };

/** This process and no other of the same number: in a container every start may get the same one. */
const LIFE = `${process.pid}-${Math.floor(performance.timeOrigin).toString(36)}`;

/** A process that was killed leaves its folder behind. */
function sweep(runFolder: string): void {
  if (!existsSync(runFolder)) return;
  for (const name of readdirSync(runFolder)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1]);
    const isLeft = pid === process.pid ? !name.startsWith(`${LIFE}-`) : pid > 0 && !isAlive(pid);
    if (isLeft) rmSync(join(runFolder, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
