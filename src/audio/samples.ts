/** How one sample is written. */
export type SampleForm = 'u8' | 's16le' | 's24le' | 's32le' | 'f32le' | 'f64le' | 'alaw' | 'mulaw';

export interface SampleReader {
  /** Of one sample. */
  readonly bytes: number;
  /** ±1; what is no number, as a float may be, is silence. */
  read(view: DataView, at: number): number;
}

export function sampleReader(form: SampleForm): SampleReader {
  switch (form) {
    case 'u8':
      return { bytes: 1, read: (view, at) => (view.getUint8(at) - 128) / 128 };
    case 's16le':
      return { bytes: 2, read: (view, at) => view.getInt16(at, true) / 2 ** 15 };
    case 's24le':
      return { bytes: 3, read: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23 };
    case 's32le':
      return { bytes: 4, read: (view, at) => view.getInt32(at, true) / 2 ** 31 };
    case 'f32le':
      return { bytes: 4, read: (view, at) => finite(view.getFloat32(at, true)) };
    case 'f64le':
      return { bytes: 8, read: (view, at) => finite(view.getFloat64(at, true)) };
    case 'alaw':
      return { bytes: 1, read: (view, at) => fromALaw(view.getUint8(at)) };
    case 'mulaw':
      return { bytes: 1, read: (view, at) => fromMuLaw(view.getUint8(at)) };
  }
}

/** Ours: floats far above full scale are noise of another format. */
const LOUDEST = 16;
const finite = (value: number): number => (Math.abs(value) <= LOUDEST ? value : 0);

/** ITU-T G.711: sign, three bits of exponent, four of mantissa; every other bit inverted. */
function fromALaw(byte: number): number {
  const code = byte ^ 0x55;
  const exponent = (code >> 4) & 7;
  const mantissa = ((code & 15) << 4) + 8;
  const size = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return (code & 0x80 ? size : -size) / 2 ** 15;
}

/** ITU-T G.711: the same with all bits inverted, and a bias of 33 steps. */
function fromMuLaw(byte: number): number {
  const code = ~byte & 0xff;
  const size = ((((code & 15) << 3) + 132) << ((code >> 4) & 7)) - 132;
  return (code & 0x80 ? -size : size) / 2 ** 15;
}
