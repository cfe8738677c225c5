/** How long one slice of prefill may keep everybody else waiting, in ms (issue 1/12: at most 250). */
const SLICE_MS = 235;

/** Below this the fixed cost of a batch outweighs what a smaller slice would save. */
const SLICE_TOKENS_MIN = 8;

/** Tokens of the first slice, before anything was measured. */
const SLICE_TOKENS_FIRST = 16;

/** Sizes slices of prefill by the speed measured so far. */
export interface PrefillPace {
  /** @param generating Tokens the same batch holds already. */
  sliceTokens(generating: number): number;
  observe(batch: { tokens: number; items: number; ms: number }): void;
}

export function createPrefillPace({ batchTokensMax }: { batchTokensMax: number }): PrefillPace {
  let msPerToken: number | undefined;
  return {
    sliceTokens(generating) {
      const wanted = msPerToken === undefined ? SLICE_TOKENS_FIRST : Math.floor(SLICE_MS / msPerToken);
      // Kernels work in rows of four.
      const rounded = wanted - (wanted % 4);
      return Math.max(SLICE_TOKENS_MIN, Math.min(rounded, batchTokensMax - generating));
    },
    observe({ tokens, items, ms }) {
      // Single generated tokens cost another price than rows of a prompt.
      if (tokens < items * 4 || tokens < SLICE_TOKENS_MIN || ms <= 0) return;
      const seen = ms / tokens;
      msPerToken = msPerToken === undefined ? seen : msPerToken * 0.7 + seen * 0.3;
    },
  };
}
