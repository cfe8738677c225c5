/**
 * Opens a source at the first read, so that keep-alives cover the wait for the first event; an error before it still
 * has its own HTTP status. An early `return` closes the source as soon as it is open.
 */
export const openOnFirstRead = <Event>(open: () => Promise<AsyncIterable<Event>>): AsyncIterable<Event> => ({
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
