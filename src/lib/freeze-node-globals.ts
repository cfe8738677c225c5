/**
 * Freezes classes for text and bytes that `--frozen-intrinsics` leaves open in this thread, because they are Node's own.
 * Without that option it does nothing. The global object stays open: Node adds to it when it loads its own modules.
 */
export function freezeNodeGlobals(): void {
  if (!Object.isFrozen(Object.prototype)) return;
  for (const each of [Buffer, TextDecoder, TextEncoder, URL, URLSearchParams]) {
    Object.freeze(each.prototype);
    Object.freeze(each);
  }
}
