/** The day of a moment in UTC, as `2026-01-31`; before there were such moments, the first of them. */
export const isoDay = (ms: number): string => new Date(Math.max(0, ms)).toISOString().slice(0, 10);
