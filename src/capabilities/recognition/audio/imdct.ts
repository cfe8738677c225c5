/**
 * Inverse modified discrete cosine transform of `size / 2` coefficients: reads `input` from index `inputAt`, and writes
 * `size` values to `output`: y[n] = sum of X[k] cos(2π/size (n + 1/2 + size/4)(k + 1/2)), without scaling.
 */
export type Imdct = (input: Float64Array, inputAt: number, output: Float64Array) => void;

/** @param size A power of two, at least 16. */
export function createImdct(size: number): Imdct {
  const half = size / 2;
  const points = size / 4;
  const fft = createFft(points);
  const twiddleRe = new Float64Array(points);
  const twiddleIm = new Float64Array(points);
  for (let k = 0; k < points; k++) {
    const angle = (-Math.PI * (k + 1 / 8)) / half;
    twiddleRe[k] = Math.cos(angle);
    twiddleIm[k] = Math.sin(angle);
  }
  const re = new Float64Array(points);
  const im = new Float64Array(points);
  const cosine = new Float64Array(half);

  return (input, inputAt, output) => {
    // Computes a type IV cosine transform by a complex transform of half its size.
    for (let n = 0; n < points; n++) {
      const a = input[inputAt + 2 * n] ?? 0;
      const b = input[inputAt + half - 1 - 2 * n] ?? 0;
      re[n] = a * (twiddleRe[n] ?? 0) - b * (twiddleIm[n] ?? 0);
      im[n] = a * (twiddleIm[n] ?? 0) + b * (twiddleRe[n] ?? 0);
    }
    fft(re, im);
    for (let k = 0; k < points; k++) {
      cosine[2 * k] = (re[k] ?? 0) * (twiddleRe[k] ?? 0) - (im[k] ?? 0) * (twiddleIm[k] ?? 0);
      cosine[half - 1 - 2 * k] = -((re[k] ?? 0) * (twiddleIm[k] ?? 0) + (im[k] ?? 0) * (twiddleRe[k] ?? 0));
    }
    // The other values follow from symmetry.
    const quarter = points;
    for (let n = 0; n < quarter; n++) {
      output[n] = cosine[n + quarter] ?? 0;
      output[3 * quarter + n] = -(cosine[n] ?? 0);
    }
    for (let n = 0; n < half; n++) output[quarter + n] = -(cosine[half - 1 - n] ?? 0);
  };
}

type Fft = (re: Float64Array, im: Float64Array) => void;

/** Fast Fourier transform in place; the length is a power of two. */
function createFft(points: number): Fft {
  const cos = new Float64Array(points / 2);
  const sin = new Float64Array(points / 2);
  for (let k = 0; k < points / 2; k++) {
    cos[k] = Math.cos((2 * Math.PI * k) / points);
    sin[k] = -Math.sin((2 * Math.PI * k) / points);
  }
  const reversed = new Uint32Array(points);
  for (let k = 1; k < points; k++) reversed[k] = ((reversed[k >> 1] ?? 0) >> 1) | (k & 1 ? points >> 1 : 0);

  return (re, im) => {
    for (let k = 0; k < points; k++) {
      const other = reversed[k] ?? 0;
      if (other <= k) continue;
      const [r, i] = [re[k] ?? 0, im[k] ?? 0];
      re[k] = re[other] ?? 0;
      im[k] = im[other] ?? 0;
      re[other] = r;
      im[other] = i;
    }
    for (let width = 1; width < points; width *= 2) {
      const step = points / (2 * width);
      for (let from = 0; from < points; from += 2 * width) {
        for (let k = 0; k < width; k++) {
          const low = from + k;
          const high = low + width;
          const c = cos[k * step] ?? 0;
          const s = sin[k * step] ?? 0;
          const r = (re[high] ?? 0) * c - (im[high] ?? 0) * s;
          const i = (re[high] ?? 0) * s + (im[high] ?? 0) * c;
          re[high] = (re[low] ?? 0) - r;
          im[high] = (im[low] ?? 0) - i;
          re[low] = (re[low] ?? 0) + r;
          im[low] = (im[low] ?? 0) + i;
        }
      }
    }
  };
}
