import type { RequestLog } from '../../core/context.ts';

const SUMMED = ['promptTokens', 'cachedTokens', 'completionTokens'] as const;

/** The log of a request of several runs: what each of them took, cancelled ones too, is added up. */
export function summedLog(log: RequestLog): RequestLog {
  const sums = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  return {
    ...log,
    add(facts) {
      for (const name of SUMMED) sums[name] += Number(facts[name] ?? 0);
      const isAccount = SUMMED.some((name) => facts[name] !== undefined);
      log.add(isAccount ? { ...facts, ...sums } : facts);
    },
  };
}
