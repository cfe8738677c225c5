// Child process of store.test.ts: opens the database, inserts a key, prints a line, and runs until it is killed.
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, id] = process.argv;
if (file === undefined || id === undefined) throw new Error('usage: store-child FILE ID');
const store = await openStore({ dialect: createSqliteDialect({ file }) });
await store.keys.insert({
  record: {
    id,
    region: 'cn-beijing',
    workspace: 'primary',
    name: '',
    hint: 'wxyz',
    createdAt: 1,
    expiresAt: undefined,
    revokedAt: undefined,
    usedAt: undefined,
  },
  hash: `hash of ${id}`,
});
process.stdout.write('inserted\n');
process.stdin.resume();
