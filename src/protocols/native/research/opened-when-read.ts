/**
 * Begins with the first look at it, so that the wait for a model's first word is kept alive like any silence; what is refused
 * meanwhile still has its own status. Whoever gives up lets go of what was opened, as soon as it is.
 */
export const openedWhenRead = <Event>(open: () => Promise<AsyncIterable<Event>>): AsyncIterable<Event> => ({
  [Symbol.asyncIterator]() {
    let opening: Promise<AsyncIterator<Event, unknown>> | undefined;
    return {
      async next() {
        opening ??= open().then((batches) => batches[Symbol.asyncIterator]());
        return await (await opening).next();
      },
      async return() {
        const source = await opening?.catch(() => undefined);
        await source?.return?.();
        return { done: true, value: undefined };
      },
    };
  },
});
