/** Returns the code of an error of Node.js, such as `ENOENT`. */
export const getErrorCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
