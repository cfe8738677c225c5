/**
 * Wraps an iterable: calls `onEnd` when an iteration has ended, failed, or is left, also before the first `next`. `onEnd` may be
 * called more than once.
 */
export const onIterationEnd = <T>(source: AsyncIterable<T>, onEnd: () => void): AsyncIterable<T> => ({
  [Symbol.asyncIterator]() {
    const iterator = source[Symbol.asyncIterator]();
    return {
      async next() {
        try {
          const step = await iterator.next();
          if (step.done === true) onEnd();
          return step;
        } catch (error) {
          onEnd();
          throw error;
        }
      },
      async return() {
        onEnd();
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    };
  },
});
