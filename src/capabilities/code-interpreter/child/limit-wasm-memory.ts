const SECTION_MEMORY = 5;
const HAS_MAXIMUM = 1;
const HEADER_BYTES = 8;
const PAGE_BYTES = 65_536;

/**
 * Lowers the maximum memory of a WebAssembly module by patching its binary, so that no code inside or outside of it can
 * exceed the limit. Growth beyond it fails; Python then raises MemoryError.
 * @throws RangeError for a module that declares no maximum, or starts with more memory.
 */
export function limitWasmMemory(module: Uint8Array, bytesMax: number): void {
  let offset = HEADER_BYTES;
  const readLeb128 = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = module[offset++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (offset < module.length) {
    const section = module[offset++];
    const end = readLeb128() + offset;
    if (section === SECTION_MEMORY) {
      const [, flags, pages] = [readLeb128(), readLeb128(), readLeb128()];
      const maximumAt = offset;
      if (flags !== HAS_MAXIMUM) break;
      readLeb128();
      const width = offset - maximumAt;
      const pagesMax = Math.floor(bytesMax / PAGE_BYTES);
      if (pagesMax < pages || pagesMax >= 2 ** (7 * width)) break;
      // Keeps the encoded length, so that nothing after it moves.
      for (let index = 0; index < width; index++) {
        const continuationBit = index < width - 1 ? 0x80 : 0;
        module[maximumAt + index] = (Math.floor(pagesMax / 2 ** (7 * index)) & 0x7f) | continuationBit;
      }
      return;
    }
    offset = end;
  }
  throw new RangeError('the memory of this module cannot be limited');
}
