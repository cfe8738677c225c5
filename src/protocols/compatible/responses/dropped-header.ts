/** Encodes the `x-parley-dropped-items` header: how many history items the model does not see. */
export const encodeDroppedHeader = (items: number): Readonly<Record<string, string>> =>
  items > 0 ? { 'x-parley-dropped-items': String(items) } : {};
