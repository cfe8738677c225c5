/** How many items of the history the model is not told. */
export const droppedHeader = (items: number): Readonly<Record<string, string>> =>
  items > 0 ? { 'x-parley-dropped-items': String(items) } : {};
