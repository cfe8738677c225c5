/** Formats a value as JSON on one line, for scripts. */
export const formatJsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;
