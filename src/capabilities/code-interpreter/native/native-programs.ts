import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assembleLauncher } from './assemble-launcher.ts';
import { assembleAttacks, assembleKeyringReader, decodeKeyring } from './native-attacks.ts';
import type { Processor } from './system-calls.ts';

/** Paths of the native programs that Parley assembles. */
export interface NativePrograms {
  /** Starts its arguments with a new session keyring, without new privileges, and with the filter of system calls. */
  readonly launcher: string;
  /** The same without the filter, for attacks on the other layers. */
  readonly unfilteredLauncher: string;
  /** Attacks its sandbox by system calls. */
  readonly attacks: string;
  /** Writes the serial number of its session keyring. */
  readonly keyringReader: string;
}

/** Writes the native programs into a folder, created if missing, unless it has them. */
export async function ensureNativePrograms(folder: string, processor: Processor): Promise<NativePrograms> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const root = await realpath(folder);
  const ensure = (name: string, content: Buffer): Promise<string> => ensureProgram(root, name, content);
  const [launcher, unfilteredLauncher, attacks, keyringReader] = await Promise.all([
    ensure('launcher', assembleLauncher(processor, { hasFilter: true })),
    ensure('unfiltered-launcher', assembleLauncher(processor, { hasFilter: false })),
    ensure('attacks', assembleAttacks(processor)),
    ensure('keyring-reader', assembleKeyringReader(processor)),
  ]);
  return { launcher, unfilteredLauncher, attacks, keyringReader };
}

/** Returns the path of a program with this content. Its name contains a digest, as several versions may share a folder. */
async function ensureProgram(folder: string, name: string, content: Buffer): Promise<string> {
  const path = join(folder, `${name}-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`);
  const existing = await readFile(path).catch(() => undefined);
  if (existing?.equals(content)) return path;
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeFile(temporary, content, { flag: 'wx', mode: 0o555 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return path;
}

/**
 * Returns the serial number of this process's session keyring; 0 if it has none, or may not know it.
 * @throws Error if programs cannot be executed in the folder of the native programs.
 */
export const readSessionKeyring = ({ keyringReader }: NativePrograms): Promise<bigint> =>
  new Promise((resolve, reject) => {
    execFile(keyringReader, { encoding: 'buffer', env: {}, cwd: '/' }, (error, stdout) => {
      if (error && error.code === 'EACCES') {
        reject(
          new Error(
            'programs cannot be executed in the data folder: its file system is mounted noexec; ' +
              'mount it with exec, or set data to a folder of another file system',
          ),
        );
      } else if (error) reject(new Error(`a native program does not run: ${error.message}`));
      else resolve(decodeKeyring(stdout));
    });
  });
