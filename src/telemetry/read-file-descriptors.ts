import { readdir, readFile } from 'node:fs/promises';

/** Returns the open file descriptors of this process and their limit; undefined where the system does not tell them. */
export async function readFileDescriptors(): Promise<{ readonly open: number; readonly limit: number } | undefined> {
  try {
    const [names, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'utf8')]);
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
    // One of them is that of the listing itself.
    return { open: names.length - 1, limit };
  } catch {
    return undefined;
  }
}
