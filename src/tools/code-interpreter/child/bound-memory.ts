const SECTION_MEMORY = 5;
const HAS_MAXIMUM = 1;
const HEADER_BYTES = 8;
const PAGE_BYTES = 65_536;

/**
 * Lowers the most that a WebAssembly module's own memory can grow to, in the module itself: nothing that runs in it, and nothing
 * around it, gets past that. Growth beyond fails, which Python sees as MemoryError.
 * @throws RangeError for a module that has no such maximum, or begins with more.
 */
export function boundMemory(module: Uint8Array, bytesMax: number): void {
  let at = HEADER_BYTES;
  const unsigned = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = module[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < module.length) {
    const section = module[at++];
    const end = unsigned() + at;
    if (section === SECTION_MEMORY) {
      const [, flags, pages] = [unsigned(), unsigned(), unsigned()];
      const from = at;
      if (flags !== HAS_MAXIMUM) break;
      unsigned();
      const width = at - from;
      const pagesMax = Math.floor(bytesMax / PAGE_BYTES);
      if (pagesMax < pages || pagesMax >= 2 ** (7 * width)) break;
      // As many bytes as before: nothing after them moves.
      for (let index = 0; index < width; index++) {
        const more = index < width - 1 ? 0x80 : 0;
        module[from + index] = (Math.floor(pagesMax / 2 ** (7 * index)) & 0x7f) | more;
      }
      return;
    }
    at = end;
  }
  throw new RangeError('the memory of this module cannot be bounded');
}
