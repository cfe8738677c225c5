import type { Usage } from '../../core/event.ts';

/** Adds the token usage of two model runs of one answer. */
export const sumUsage = (one: Usage, other: Usage): Usage => ({
  promptTokens: one.promptTokens + other.promptTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  completionTokens: one.completionTokens + other.completionTokens,
  ...sumOptional('cacheCreationTokens', one, other),
  ...sumOptional('reasoningTokens', one, other),
  ...sumOptional('imageTokens', one, other),
  ...sumOptional('audioTokens', one, other),
  ...(one.usesExplicitCache || other.usesExplicitCache ? { usesExplicitCache: true } : {}),
});

function sumOptional<Name extends 'cacheCreationTokens' | 'reasoningTokens' | 'imageTokens' | 'audioTokens'>(
  name: Name,
  { [name]: one }: Pick<Usage, Name>,
  { [name]: other }: Pick<Usage, Name>,
): Partial<Record<Name, number>> {
  const sums: Partial<Record<Name, number>> = {};
  if (one !== undefined || other !== undefined) sums[name] = (one ?? 0) + (other ?? 0);
  return sums;
}
