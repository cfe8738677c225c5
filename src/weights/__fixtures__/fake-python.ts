import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Stands in for Python and pip: "downloads" NAME.whl from a folder, "unpacks" a wheel by copying it, and notes what it
 * was asked for. With `hang` in the folder a download never ends; with `no-pip` there is no pip.
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
  /** Where the wheels lie, and the switches. */
  readonly folder: string;
  /** Package==version of every download so far, sorted. */
  asked(): Promise<readonly string[]>;
}

/** A wheel here is the bytes of its one member. */
export async function createFakePython(folder: string, wheels: Readonly<Record<string, string>>): Promise<FakePython> {
  await mkdir(folder, { recursive: true });
  const command = join(folder, 'python');
  await writeFile(command, SCRIPT, { mode: 0o755 });
  for (const [name, content] of Object.entries(wheels)) await writeFile(join(folder, `${name}.whl`), content);
  return {
    command,
    folder,
    async asked() {
      const text = await readFile(join(folder, 'asked.txt'), 'utf8').catch(() => '');
      return text.split('\n').filter(Boolean).toSorted();
    },
  };
}
