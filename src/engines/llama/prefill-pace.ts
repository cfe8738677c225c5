/** Longest time, in ms, that one slice of prefill may delay all other requests. The aim is 250 ms at most. */
const SLICE_MS_MAX = 235;

/** Smallest slice, in tokens. Below it, the fixed cost of a batch outweighs the shorter delay. */
const SLICE_TOKENS_MIN = 8;

/** Size of the first slice, in tokens, before any measurement. */
const SLICE_TOKENS_FIRST = 16;

/** Chooses the size of prefill slices from the measured evaluation speed. */
export interface PrefillPace {
  /** @param generating Number of tokens that the same batch already contains. */
  sliceTokens(generating: number): number;
  observe(batch: { tokens: number; items: number; ms: number }): void;
}

export function createPrefillPace({ batchTokensMax }: { batchTokensMax: number }): PrefillPace {
  let msPerToken: number | undefined;
  return {
    sliceTokens(generating) {
      const affordable = msPerToken === undefined ? SLICE_TOKENS_FIRST : Math.floor(SLICE_MS_MAX / msPerToken);
      // Compute kernels work in rows of four tokens.
      const rounded = affordable - (affordable % 4);
      return Math.max(SLICE_TOKENS_MIN, Math.min(rounded, batchTokensMax - generating));
    },
    observe({ tokens, items, ms }) {
      // Single generated tokens take longer per token than rows of a prompt, so such batches are not measured.
      if (tokens < items * 4 || tokens < SLICE_TOKENS_MIN || ms <= 0) return;
      const measured = ms / tokens;
      msPerToken = msPerToken === undefined ? measured : msPerToken * 0.7 + measured * 0.3;
    },
  };
}
