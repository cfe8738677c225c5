// A process of its own for files.test.ts: uploads files in twos and deletes every second upload, tells what is done, and waits
// to be killed.
import { openDisk } from '../../src/blobs/disk.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createFiles } from '../../src/resources/files/service.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , folder, prefix] = process.argv;
if (folder === undefined || prefix === undefined) throw new Error('usage: files-child FOLDER PREFIX');

const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const limits = { fileBytesMax: 1e9, totalBytesMax: 1e12, countMax: 1e6 };
const store = await openStore({ dialect: sqliteDialect({ file: `${folder}/parley.db` }) });
const blobs = await openDisk({ folder: `${folder}/blobs` });
const files = createFiles({ store, blobs, clock: systemClock, log: { warn: () => undefined }, limitsOf: () => limits });

/** Each byte of a file is the last of its number: bytes of another one's are found. */
async function* bytesOf(number: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < 10; count += 1) {
    yield Buffer.alloc(32 * 1024, number);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const tell = (what: string, ids: readonly string[]): void => void process.stdout.write(`${what} ${ids.join(' ')}\n`);

for (let number = 0; ; number += 1) {
  const received = [];
  for (const part of [0, 1]) received.push({ part, file: await files.receive(OWNER, bytesOf(number)) });
  const kept = await files.keep(
    OWNER,
    received.map(({ part, file }) => ({
      received: file,
      draft: { name: `${prefix}-${number}-${part}`, description: '', purpose: 'batch' },
    })),
  );
  const ids = kept.map(({ id }) => id);
  tell('kept', ids);
  if (number % 2 === 0) continue;
  for (const id of ids) {
    tell('deleting', [id]);
    await files.delete(OWNER, id);
    tell('deleted', [id]);
  }
}
