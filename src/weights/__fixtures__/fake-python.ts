import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Replaces Python and pip: "downloads" NAME.whl from a folder, "extracts" a wheel by copying it, and records each
 * requested package. A file `hang` in the folder makes downloads hang; a file `no-pip` makes pip unavailable.
 */
const SCRIPT = `#!/bin/sh
here="$(dirname "$0")"
shift 2 # -c and the program
if [ "$1" != "download" ] && [ "$1" != "--version" ]; then exec cp "$1" "$3"; fi
if [ -e "$here/no-pip" ]; then echo "No module named pip" >&2; exit 1; fi
if [ "$1" = "--version" ]; then exit 0; fi
while [ $# -gt 1 ]; do
  if [ "$1" = "-d" ]; then folder="$2"; fi
  shift
done
echo "$1" >> "$here/asked.txt"
if [ -e "$here/hang" ]; then touch "$here/hanging"; sleep 600; fi
name="\${1%%==*}"
if [ ! -e "$here/$name.whl" ]; then echo "ERROR: No matching distribution found for $1" >&2; exit 1; fi
cp "$here/$name.whl" "$folder/"
`;

export interface FakePython {
  readonly command: string;
  /** Folder of the wheels and of the files that switch behavior. */
  readonly folder: string;
  /** Returns `package==version` of every download so far, sorted. */
  listDownloads(): Promise<readonly string[]>;
}

/** Creates the fake command. The content of a wheel is that of its one member. */
export async function createFakePython(folder: string, wheels: Readonly<Record<string, string>>): Promise<FakePython> {
  await mkdir(folder, { recursive: true });
  const command = join(folder, 'python');
  await writeFile(command, SCRIPT, { mode: 0o755 });
  for (const [name, content] of Object.entries(wheels)) await writeFile(join(folder, `${name}.whl`), content);
  return {
    command,
    folder,
    async listDownloads() {
      const text = await readFile(join(folder, 'asked.txt'), 'utf8').catch(() => '');
      return text.split('\n').filter(Boolean).toSorted();
    },
  };
}
