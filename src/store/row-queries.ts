/** Returns whether a query selects, or changes and returns, a row. */
export const hasRow = async (query: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> =>
  (await query.executeTakeFirst()) !== undefined;

/** Returns the IDs of the rows that a query selects, or changes and returns. */
export const listIds = async (query: { execute(): Promise<readonly { id: string }[]> }): Promise<readonly string[]> =>
  (await query.execute()).map(({ id }) => id);

/** Returns the count of a query; some databases return it as a string or a bigint. */
export const readCount = async (query: {
  executeTakeFirstOrThrow(): Promise<{ readonly count: string | number | bigint }>;
}): Promise<number> => Number((await query.executeTakeFirstOrThrow()).count);
