// Child process of files.test.ts: uploads files in pairs, deletes every second pair, prints each result, and runs until
// it is killed.
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , folder, prefix] = process.argv;
if (folder === undefined || prefix === undefined) throw new Error('usage: files-child FOLDER PREFIX');

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const limits = { fileBytesMax: 1e9, totalBytesMax: 1e12, countMax: 1e6 };
const store = await openStore({ dialect: createSqliteDialect({ file: `${folder}/parley.db` }) });
const blobs = await openDiskBlobStore({ folder: `${folder}/blobs` });
const files = createFiles({
  store,
  blobs,
  clock: systemClock,
  log: { warn: () => undefined },
  getLimits: () => limits,
});

/** Yields bytes with the file's number as value (modulo 256), so that the test detects bytes of another file. */
async function* createBytes(number: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < 10; count += 1) {
    yield Buffer.alloc(32 * 1024, number);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const report = (what: string, ids: readonly string[]): void => void process.stdout.write(`${what} ${ids.join(' ')}\n`);

for (let number = 0; ; number += 1) {
  const received = [];
  for (const part of [0, 1]) received.push({ part, file: await files.receive(OWNER, createBytes(number)) });
  const committed = await files.commit(
    OWNER,
    received.map(({ part, file }) => ({
      received: file,
      draft: { name: `${prefix}-${number}-${part}`, description: '', purpose: 'batch' },
    })),
  );
  const ids = committed.map(({ id }) => id);
  report('stored', ids);
  if (number % 2 === 0) continue;
  for (const id of ids) {
    report('deleting', [id]);
    await files.delete(OWNER, id);
    report('deleted', [id]);
  }
}
