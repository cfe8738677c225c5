/** One value on one line, as scripts read it. */
export const asJson = (value: unknown): string => `${JSON.stringify(value)}\n`;
