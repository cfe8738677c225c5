/** Runs a query of a store: checks the transaction context before it, and translates database errors after it. */
export type RunQuery = <T>(query: () => Promise<T>) => Promise<T>;
