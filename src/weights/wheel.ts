import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import type { WheelPart } from '../core/weights.ts';
import type { PythonNeeds } from './python.ts';
import { runPython } from './python.ts';

/** Puts the wheel of a part into an empty folder and gives its path. */
export type FetchWheel = (part: WheelPart, folder: string, signal: AbortSignal) => Promise<string>;

/** What `python -m pip` does. */
const PIP = `
import runpy
runpy.run_module("pip", run_name="__main__", alter_sys=True)
`;

export const hasPip = async (needs: PythonNeeds): Promise<boolean> =>
  (await runPython(PIP, ['--version'], needs)).status === 0;

/** By pip, which brings its own index, proxies, certificates, retries and hash check. */
export function createPipFetch(needs: Omit<PythonNeeds, 'signal'>): FetchWheel {
  return async (part, folder, signal) => {
    const name = `${part.package}==${part.version}`;
    const flags = ['--no-deps', '--only-binary=:all:', '--no-cache-dir', '--no-input', '--quiet'];
    // Its temporary files lie in our folder, so that they count as progress and do not outlive it.
    const environment = { ...needs.environment, TMPDIR: folder, PIP_DISABLE_PIP_VERSION_CHECK: '1' };
    const { status, errorText } = await runPython(PIP, ['download', ...flags, '-d', folder, name], {
      python: needs.python,
      environment,
      signal,
    });
    const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl'));
    if (status === 0 && wheel !== undefined) return join(folder, wheel);
    throw new ServiceError('upstream-failed', `pip could not download ${name}: ${lastLine(errorText)}`);
  };
}

/** A program for `python -c`: copies one member of an archive in pieces; memory does not depend on its size. */
const UNPACK = `
import shutil, sys, zipfile
wheel, member, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    with archive.open(member) as source, open(target, "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
`;

/** Takes one member out of a wheel; the archive's own checksum is checked on the way. */
export async function unpackMember(
  { wheel, member, target }: { wheel: string; member: string; target: string },
  needs: PythonNeeds,
): Promise<void> {
  const { status, errorText } = await runPython(UNPACK, [wheel, member, target], needs);
  if (status === 0) return;
  throw new ServiceError('upstream-failed', `${member} could not be unpacked: ${lastLine(errorText)}`);
}

/** The sentence of a Python traceback, or of pip's complaints, that says what it was. */
function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => line.startsWith('ERROR:')) ?? lines.at(-1) ?? 'no reason given';
}
