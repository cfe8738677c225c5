/** Encodes the `x-parley-estimated` header: which number of the response is an estimate and not a count. */
export const encodeEstimatedHeader = (isEstimated: boolean): Readonly<Record<string, string>> =>
  isEstimated ? { 'x-parley-estimated': 'input_tokens' } : {};
