/** Encoding of one sample. */
export type SampleFormat = 'u8' | 's16le' | 's24le' | 's32le' | 'f32le' | 'f64le' | 'alaw' | 'mulaw';

export interface SampleReader {
  /** Bytes per sample. */
  readonly bytes: number;
  /** Reads a sample, about ±1. A float that is not a number becomes silence. */
  read(view: DataView, at: number): number;
}

export function createSampleReader(format: SampleFormat): SampleReader {
  switch (format) {
    case 'u8':
      return { bytes: 1, read: (view, at) => (view.getUint8(at) - 128) / 128 };
    case 's16le':
      return { bytes: 2, read: (view, at) => view.getInt16(at, true) / 2 ** 15 };
    case 's24le':
      return { bytes: 3, read: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23 };
    case 's32le':
      return { bytes: 4, read: (view, at) => view.getInt32(at, true) / 2 ** 31 };
    case 'f32le':
      return { bytes: 4, read: (view, at) => limitFloat(view.getFloat32(at, true)) };
    case 'f64le':
      return { bytes: 8, read: (view, at) => limitFloat(view.getFloat64(at, true)) };
    case 'alaw':
      return { bytes: 1, read: (view, at) => decodeALaw(view.getUint8(at)) };
    case 'mulaw':
      return { bytes: 1, read: (view, at) => decodeMuLaw(view.getUint8(at)) };
  }
}

/** Floats far above full scale come from misinterpreted data, and become silence. */
const FLOAT_SAMPLE_MAX = 16;
const limitFloat = (value: number): number => (Math.abs(value) <= FLOAT_SAMPLE_MAX ? value : 0);

/** Decodes ITU-T G.711 A-law: sign, three exponent bits, four mantissa bits; every other bit is inverted. */
function decodeALaw(byte: number): number {
  const code = byte ^ 0x55;
  const exponent = (code >> 4) & 7;
  const mantissa = ((code & 15) << 4) + 8;
  const size = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return (code & 0x80 ? size : -size) / 2 ** 15;
}

/** Decodes ITU-T G.711 μ-law: the same fields with all bits inverted, and a bias of 33 steps. */
function decodeMuLaw(byte: number): number {
  const code = ~byte & 0xff;
  const size = ((((code & 15) << 3) + 132) << ((code >> 4) & 7)) - 132;
  return (code & 0x80 ? -size : size) / 2 ** 15;
}
