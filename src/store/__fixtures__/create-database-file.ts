import { readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';

/** Creates a database with 100 pages of rows, and no log. */
export function createDatabaseFile(file: string): string {
  const database = new DatabaseSync(file);
  database.exec('create table rows (text text not null); begin');
  for (let count = 0; count < 100; count += 1) database.prepare('insert into rows values (?)').run('x'.repeat(2000));
  database.exec('commit');
  database.close();
  return file;
}

/** Creates a database, and returns a log of 20 commits of one frame each, as a killed process leaves it. */
export async function createDatabaseLog(file: string): Promise<Buffer> {
  const database = new DatabaseSync(file);
  database.exec('pragma journal_mode = wal; create table rows (text)');
  for (let count = 0; count < 20; count += 1) database.exec("insert into rows values ('text')");
  const wal = await readFile(`${file}-wal`);
  database.close();
  return wal;
}
