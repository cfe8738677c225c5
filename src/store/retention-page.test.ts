import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { Kysely, sql } from 'kysely';
import { systemClock } from '../lib/clock.ts';
import { createSqliteDialect } from './dialects/sqlite.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import type { Database } from './schema/database.ts';

const PAGE = new URL('../../docs/retention.md', import.meta.url);

it('docs/retention.md says of every table of the database how long its rows are kept, and of no other', async () => {
  const dialect = createSqliteDialect({ file: ':memory:' });
  const db = new Kysely<Database>({ dialect: await dialect.open() });
  await migrate(db, { dialect, migrations: MIGRATIONS, clock: systemClock });
  // The other tables of a full-text index are part of it.
  const { rows } = await sql<{ name: string }>`select name from sqlite_schema
    where type = 'table' and name not like 'sqlite_%' and name not like 'index_terms\\_%' escape '\\'`.execute(db);
  await db.destroy();
  const page = readFileSync(PAGE, 'utf8');
  const named = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? []);
  assert.deepEqual(named.toSorted(), rows.map(({ name }) => name).toSorted());
});
