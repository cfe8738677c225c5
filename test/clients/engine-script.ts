/**
 * Encodes a prompt that tells the scripted engine what to do: texts to output, pauses (`delayMs`), failures (`fail`),
 * hangs.
 */
export const encodeScript = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;

/** Encodes a tool call in the markup that a model writes. */
export const encodeToolCall = (name: string, input: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`;
