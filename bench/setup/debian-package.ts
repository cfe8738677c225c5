import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareBenchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

export interface DebianPackage {
  /** Name and version, such as `git-doc=1:2.39.5-0+deb12u3`. */
  readonly package: string;
  readonly sha256: string;
}

/**
 * Downloads a package once with the system's package manager, and unpacks it; none of it becomes part of this repository.
 * @param name Name of the folder.
 * @returns the folder with the unpacked files.
 * @throws Error when the package cannot be downloaded, or is not the pinned one.
 */
export async function openDebianPackage(name: string, { package: pinned, sha256 }: DebianPackage): Promise<string> {
  return await prepareBenchFolder(name, `${pinned} ${sha256}`, async (at) => {
    await runProgram('apt-get', ['--quiet', 'download', pinned], at);
    const [file] = globSync('*.deb', { cwd: at });
    if (file === undefined) throw new Error(`The package ${pinned} could not be downloaded.`);
    const digest = createHash('sha256')
      .update(readFileSync(join(at, file)))
      .digest('hex');
    if (digest !== sha256) throw new Error(`The package ${pinned} has the SHA-256 ${digest} instead of ${sha256}.`);
    await runProgram('dpkg-deb', ['--extract', file, '.'], at);
  });
}
