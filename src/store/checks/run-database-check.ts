import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { findDatabaseDamage } from '../database-damage.ts';
import type { DatabaseCheck, DatabaseCheckResult, DatabaseProblem } from './check-database.ts';
import { scanWal, type WalScan } from './scan-wal.ts';

/** Problems that SQLite lists at most. */
const PROBLEMS_MAX = 20;

/** Number of scans that must find the same damage: another process may write the log meanwhile. */
const SCANS = 3;
/** Pause between two scans, in ms. */
const SCAN_PAUSE_MS = 50;

/** Ms that the check waits for a lock. */
const LOCK_MS_MAX = 5_000;

/** Runs the parts of a check up to the first one that cannot run. Blocks the thread. */
export function runDatabaseCheck({ file, parts }: DatabaseCheck): DatabaseCheckResult {
  const problems: DatabaseProblem[] = [];
  try {
    for (const part of parts) problems.push(...runPart(file, part));
  } catch (error) {
    return { problems, failure: error instanceof Error ? error.message : String(error) };
  }
  return { problems };
}

function runPart(file: string, part: DatabaseProblem['part']): readonly DatabaseProblem[] {
  switch (part) {
    case 'wal':
      return checkWal(`${file}-wal`);
    case 'quick':
    case 'full':
      return checkPages(file, part === 'full' ? 'integrity_check' : 'quick_check');
    case 'foreign-keys':
      return checkForeignKeys(file);
  }
}

function checkWal(wal: string): readonly DatabaseProblem[] {
  let scan = scanWal(wal);
  for (let count = 1; count < SCANS && scan.state === 'damaged'; count += 1) {
    const previous: WalScan = scan;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SCAN_PAUSE_MS);
    scan = scanWal(wal);
    if (scan.state === 'damaged' && scan.position !== previous.position) count = 0;
  }
  if (scan.state !== 'damaged') return [];
  const { position, lostCommits } = scan;
  const detail = `the write-ahead log has wrong bytes at ${position}; SQLite would drop them and ${lostCommits} intact commits after them`;
  return [{ part: 'wal', file: wal, detail }];
}

function checkPages(file: string, pragma: 'quick_check' | 'integrity_check'): readonly DatabaseProblem[] {
  const part = pragma === 'quick_check' ? 'quick' : 'full';
  if (!existsSync(file) || statSync(file).size === 0) return [];
  return withDatabase(file, part, (database) =>
    database
      .prepare(`pragma ${pragma}(${PROBLEMS_MAX})`)
      .all()
      .map((row) => String(row[pragma]))
      .filter((line) => line !== 'ok')
      .map((detail) => ({ part, file, detail })),
  );
}

function checkForeignKeys(file: string): readonly DatabaseProblem[] {
  return withDatabase(file, 'foreign-keys', (database) =>
    database
      .prepare('pragma foreign_key_check')
      .all()
      .slice(0, PROBLEMS_MAX)
      .map(({ table, rowid, parent }) => ({
        part: 'foreign-keys',
        file,
        detail: `row ${String(rowid)} of ${String(table)} refers to a missing row of ${String(parent)}`,
      })),
  );
}

/**
 * Returns damage that SQLite cannot read past, and thus reports as an error, as a problem.
 *
 * @throws Error of SQLite that says nothing about the content, such as that of a lock or of missing rights.
 */
function withDatabase(
  file: string,
  part: DatabaseProblem['part'],
  read: (database: DatabaseSync) => readonly DatabaseProblem[],
): readonly DatabaseProblem[] {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: LOCK_MS_MAX });
    return read(database);
  } catch (error) {
    const damage = findDatabaseDamage(error);
    if (damage?.type !== 'corrupt') throw error;
    return [{ part, file, detail: damage.error.message }];
  } finally {
    database?.close();
  }
}
