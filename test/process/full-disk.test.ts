import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('__fixtures__/full-disk-program.ts', import.meta.url));

/** Size of the file that does not fit, in MiB. */
const LARGE_FILE_MIB = 24;

/**
 * Shell command that mounts a disk of 12 MB over a folder in a new namespace, and runs a program there. Arguments:
 * Node.js ($0), the folder ($1) and the program ($2).
 */
const RUN_ON_SMALL_DISK = `mount -t tmpfs -o size=12m,mode=700 small "$1" && exec "$0" "$2" "$1" ${LARGE_FILE_MIB}`;

function getSkipReason(): string | false {
  try {
    execFileSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'probe', '/mnt'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'this machine cannot mount a disk in a namespace';
  }
}

/** Report of full-disk-program.ts. */
interface ProgramReport {
  /** Response of the native API to an upload of three files. */
  readonly native: {
    readonly status: number;
    readonly body: {
      readonly data: { readonly uploaded_files: readonly unknown[]; readonly failed_uploads: readonly unknown[] };
    };
  };
  /** Response of the OpenAI-compatible API to an upload of the large file. */
  readonly compatible: { readonly status: number; readonly body: { readonly error: { readonly code: string } } };
  /** Names of partial files that uploads left behind. */
  readonly incoming: readonly string[];
  readonly warnings: readonly string[];
  readonly list: { readonly data: { readonly total: number } };
}

test(
  'refuses a file that does not fit on the disk, and stores the other files of the request',
  {
    skip: getSkipReason(),
    timeout: 60_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-full-'));
    try {
      const args = [process.execPath, folder, PROGRAM];
      const { stdout } = await promisify(execFile)('unshare', ['-rm', 'sh', '-c', RUN_ON_SMALL_DISK, ...args]);
      const { native, compatible, incoming, list, warnings } = JSON.parse(stdout) as ProgramReport;
      const message = 'The disk of the service is full at the moment. Please try again later.';
      assert.equal(native.status, 200, stdout);
      assert.equal(native.body.data.uploaded_files.length, 2);
      assert.deepEqual(native.body.data.failed_uploads, [
        { name: `${LARGE_FILE_MIB * 1024 * 1024}.bin`, code: 'ServiceUnavailable', message },
      ]);
      assert.deepEqual([compatible.status, compatible.body.error.code], [503, 'ServiceUnavailable']);
      assert.equal(warnings.filter((warning) => /file storage is full.*ENOSPC/.test(warning)).length, 2, stdout);
      assert.deepEqual([incoming, list.data.total], [[], 2]);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
