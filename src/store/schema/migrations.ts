/** Which migrations a database has. Made by the runner itself, before the first of them. */
export interface MigrationsTable {
  name: string;
  /** UTC milliseconds. */
  applied_at: number;
}
