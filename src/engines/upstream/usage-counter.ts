import type { Usage } from '../../core/event.ts';
import type { WireUsage } from './chunk.ts';

/** Counts the usage of an answer: reported by the server where possible, else counted or estimated. */
export interface UsageCounter {
  /** Adds a reported usage. The last one covers the whole answer, and is often the only one. */
  addReported(wire: WireUsage): void;
  /**
   * @param outputTokensMin Number of received pieces of text and calls: a lower bound, used if no better count exists.
   * @param recounted Counts of Parley's own, for what the server did not report.
   */
  getUsage(outputTokensMin: number, recounted?: RecountedUsage): Usage;
  /** Returns which counts are missing or impossible: an empty prompt, or an answer or images without tokens. */
  findMissing(outputTokensMin: number): MissingCounts;
}

export interface MissingCounts {
  readonly prompt: boolean;
  readonly completion: boolean;
  readonly images: boolean;
}

export interface RecountedUsage {
  readonly promptTokens?: number | undefined;
  /** Tokens of the prompt that do not stand for its images. */
  readonly textTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
}

export interface UsageCounterOptions {
  /** The server reports a usage for each choice, which counts the prompt again. */
  readonly isPerChoice: boolean;
  /** The prompt contains images. */
  readonly hasImages: boolean;
}

export function createUsageCounter({ isPerChoice, hasImages }: UsageCounterOptions): UsageCounter {
  let lastReported: WireUsage | undefined;
  let completion: number | undefined;

  const getReportedImageTokens = (): number | null | undefined => {
    const details = lastReported?.prompt_tokens_details;
    return details?.image_tokens ?? details?.multimodal_tokens?.image;
  };

  const findMissing = (outputTokensMin: number): MissingCounts => ({
    prompt: !lastReported?.prompt_tokens,
    completion: completion === undefined || (completion === 0 && outputTokensMin > 0),
    images: hasImages && !getReportedImageTokens(),
  });

  return {
    addReported(wire) {
      const reportedTokens = wire.completion_tokens ?? undefined;
      completion = isPerChoice && reportedTokens !== undefined ? (completion ?? 0) + reportedTokens : reportedTokens;
      // Later choices find the whole prompt in the cache, because the first choice has just filled it.
      lastReported = isPerChoice ? (lastReported ?? wire) : wire;
    },
    findMissing,
    getUsage(outputTokensMin, recounted) {
      const missing = findMissing(outputTokensMin);
      const promptTokens = (missing.prompt ? recounted?.promptTokens : lastReported?.prompt_tokens) ?? 0;
      const completionTokens =
        (missing.completion ? (recounted?.completionTokens ?? outputTokensMin) : completion) ?? outputTokensMin;
      const reasoningTokens =
        lastReported?.completion_tokens_details?.reasoning_tokens ?? lastReported?.reasoning_tokens ?? 0;
      const details = lastReported?.prompt_tokens_details;
      const recountedImage =
        missing.images && !missing.prompt && recounted?.textTokens !== undefined
          ? Math.max(0, promptTokens - recounted.textTokens)
          : undefined;
      const image = getReportedImageTokens() || recountedImage;
      const audio = details?.audio_tokens ?? details?.multimodal_tokens?.audio;
      return {
        promptTokens,
        cachedTokens: Math.min(details?.cached_tokens ?? 0, promptTokens),
        ...(image ? { imageTokens: Math.min(image, promptTokens) } : {}),
        ...(audio ? { audioTokens: Math.min(audio, promptTokens - Math.min(image ?? 0, promptTokens)) } : {}),
        completionTokens,
        ...(reasoningTokens > 0 ? { reasoningTokens: Math.min(reasoningTokens, completionTokens) } : {}),
      };
    },
  };
}
