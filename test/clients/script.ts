/** What makes the scripted engine say these pieces, or wait, or fail. */
export const says = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;

/** A call as the scripted engine's model would write it. */
export const callOf = (name: string, input: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`;
