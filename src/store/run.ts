/** How a noun's queries are run: with the store's checks before them and its translation of failures after them. */
export type Run = <T>(query: () => Promise<T>) => Promise<T>;
