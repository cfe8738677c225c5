import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('__fixtures__/full-disk-program.ts', import.meta.url));
const FILLED_DISK_PROGRAM = fileURLToPath(new URL('__fixtures__/filled-disk-program.ts', import.meta.url));

/** Size of the file that does not fit, in MiB. */
const LARGE_FILE_MIB = 24;

/**
 * Shell command that mounts a disk of 12 MB over a folder in a new namespace, and runs a program there. Arguments:
 * Node.js ($0), the folder ($1) and the program ($2).
 */
const RUN_ON_SMALL_DISK = `mount -t tmpfs -o size=12m,mode=700 small "$1" && exec "$0" "$2" "$1" ${LARGE_FILE_MIB}`;

/** As above, but the program runs twice on the same disk, and each time is killed by itself. */
const RUN_TWICE_ON_SMALL_DISK =
  'mount -t tmpfs -o size=24m,mode=700 small "$1" && ' +
  '{ "$0" "$2" "$1" first; test $? = 137 && { "$0" "$2" "$1" again; test $? = 137; }; }';

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

interface Answer<Body = unknown> {
  readonly status: number;
  readonly body: Body;
}
interface StorageAnswer {
  readonly status: number;
  readonly state: string;
  readonly storage: { readonly state: string; readonly reason?: string; readonly disk: { readonly freeBytes: number } };
}
type FileList = Answer<{ readonly data: readonly { readonly id: string }[] }>;

/** Reports of filled-disk-program.ts. */
interface FirstRun {
  readonly uploads: readonly Answer<{ readonly id: string }>[];
  readonly conversation: Answer;
  readonly ready: StorageAnswer;
  readonly 'full upload': Answer;
  readonly 'full conversation': Answer;
  readonly 'full ready': StorageAnswer;
  readonly deleted: Answer;
  readonly list: FileList;
  readonly 'deleted conversation': Answer;
  readonly 'refused while low': readonly Answer[];
  readonly reserve: boolean;
  readonly lines: readonly string[];
}
interface SecondRun {
  readonly list: FileList;
  readonly ready: StorageAnswer;
  readonly deleted: Answer;
  readonly 'list after': FileList;
}

test(
  'deletes on a disk that something else has filled, refuses what would grow, and starts again after a kill',
  { skip: getSkipReason(), timeout: 120_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-filled-'));
    try {
      const args = [process.execPath, folder, FILLED_DISK_PROGRAM];
      const { stdout } = await promisify(execFile)('unshare', ['-rm', 'sh', '-c', RUN_TWICE_ON_SMALL_DISK, ...args]);
      const [firstLine = '', secondLine = ''] = stdout.split('\n');
      const first = JSON.parse(firstLine) as FirstRun;
      assert.deepEqual(
        [...first.uploads, first.conversation].map(({ status }) => status),
        [200, 200, 200],
        stdout,
      );
      assert.deepEqual([first.ready.status, first.ready.state, first.ready.storage.state], [200, 'ready', 'ok']);
      assert.deepEqual([first['full upload'].status, first['full conversation'].status], [503, 503]);
      const full = first['full ready'];
      assert.deepEqual([full.status, full.state, full.storage.disk.freeBytes], [200, 'degraded', 0]);
      assert.match(full.storage.reason ?? '', /0\.0 % of the disk of .* is free, less than 5\.0 %/);
      assert.deepEqual([first.deleted.status, first['deleted conversation'].status], [200, 200], stdout);
      assert.deepEqual(getIds(first.list), [first.uploads[1]?.body.id]);
      assert.deepEqual(
        first['refused while low'].map(({ status }) => status),
        [503, 503],
      );
      assert.ok(first.reserve, 'what a removal frees is kept for the next one');
      const failures = first.lines.filter((line) => line.includes('"status":503'));
      assert.equal(failures.length, 4, stdout);
      assert.ok(
        failures.every((line) => line.includes(folder)),
        'each names the path of the full disk',
      );

      const second = JSON.parse(secondLine) as SecondRun;
      assert.deepEqual(getIds(second.list), [first.uploads[1]?.body.id]);
      assert.deepEqual([second.ready.status, second.ready.state], [200, 'degraded']);
      assert.equal(second.deleted.status, 200, stdout);
      assert.deepEqual(getIds(second['list after']), []);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

const getIds = ({ body }: FileList): readonly string[] => body.data.map(({ id }) => id);
