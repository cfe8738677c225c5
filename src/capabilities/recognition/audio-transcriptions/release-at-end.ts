/** Calls `release` once when the source has ended, has failed or is closed, even if nothing was read from it. */
export const releaseAtEnd = <Event>(
  source: AsyncIterable<Event>,
  release: () => Promise<void>,
): AsyncIterable<Event> => ({
  [Symbol.asyncIterator]() {
    const events = source[Symbol.asyncIterator]();
    let released: Promise<void> | undefined;
    const releaseOnce = (): Promise<void> => (released ??= release());
    return {
      async next() {
        try {
          const result = await events.next();
          if (result.done === true) await releaseOnce();
          return result;
        } catch (thrown) {
          await releaseOnce();
          throw thrown;
        }
      },
      async return() {
        try {
          await events.return?.();
        } finally {
          await releaseOnce();
        }
        return { done: true, value: undefined };
      },
    };
  },
});
