/**
 * Awaits work on an open file, and adds the file's path to an error of the operating system: unlike others, the errors of
 * open files do not name it.
 */
export async function nameFileInError<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && !('path' in error && error.path !== undefined)) {
      error.message += ` '${path}'`;
      Object.assign(error, { path });
    }
    throw error;
  }
}
