import type { RequestLog } from '../../core/context.ts';

const SUMMED_FIELDS = ['promptTokens', 'cachedTokens', 'completionTokens'] as const;

/** Wraps the log of a request with several runs: logs the sum of their token counts, canceled runs included. */
export function createSummingLog(log: RequestLog): RequestLog {
  const sums = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  return {
    ...log,
    add(fields) {
      for (const name of SUMMED_FIELDS) sums[name] += Number(fields[name] ?? 0);
      const hasUsage = SUMMED_FIELDS.some((name) => fields[name] !== undefined);
      log.add(hasUsage ? { ...fields, ...sums } : fields);
    },
  };
}
