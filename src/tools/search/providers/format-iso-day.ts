/** Formats the UTC day as `2026-01-31`; times before 1970 become its first day. */
export const formatIsoDay = (ms: number): string => new Date(Math.max(0, ms)).toISOString().slice(0, 10);
