/** Space that one table or index uses. */
export interface TableUsage {
  /** Name of the table. A full-text index counts as one table. */
  readonly table: string;
  readonly rows: number | undefined;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

export interface DatabaseUsage {
  readonly tables: readonly TableUsage[];
  /** Size of the database file. */
  readonly fileBytes: number;
  /** Size of the write-ahead log. */
  readonly logBytes: number;
  /** Bytes in the file that deleted rows have left. */
  readonly freeBytes: number;
  /** False for a database of an earlier version, which gives back no space until it is compacted once. */
  readonly givesBackSpace: boolean;
}

/** Work on the files of a database, beside its queries. Each kind of database has its own. */
export interface DatabaseMaintenance {
  /** Reads the whole database. */
  readUsage(): Promise<DatabaseUsage>;
  /** Gives unused space back to the disk, in one small step. @returns whether another step would give back more. */
  reclaimStep(): Promise<boolean>;
  /** Writes the database anew without unused space. Other processes cannot write meanwhile. */
  compact(): Promise<void>;
}
