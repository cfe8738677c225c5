/** Migrations applied to this database. The migration runner creates the table before the first migration. */
export interface MigrationsTable {
  name: string;
  /** UTC milliseconds. */
  applied_at: number;
}
