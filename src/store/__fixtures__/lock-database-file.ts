import { DatabaseSync } from 'node:sqlite';

/** Locks a database for reading, too, as a foreign program can, until the returned function is called. */
export function lockDatabaseFile(file: string): () => void {
  const database = new DatabaseSync(file);
  // In the WAL mode an exclusive transaction lets others read.
  database.exec('pragma journal_mode = delete; begin exclusive');
  return () => database.close();
}
