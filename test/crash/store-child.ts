// A process of its own for store.test.ts: opens the database, inserts a key, says so, and waits to be killed.
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, id] = process.argv;
if (file === undefined || id === undefined) throw new Error('usage: store-child FILE ID');
const store = await openStore({ dialect: sqliteDialect({ file }) });
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
  },
  hash: `hash of ${id}`,
});
process.stdout.write('inserted\n');
process.stdin.resume();
