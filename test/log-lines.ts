/** Parses the log lines with a message, in order, from the output of a service. An incomplete last line is left out. */
export const findLogLines = (output: string, message: string): readonly Readonly<Record<string, unknown>>[] =>
  output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.includes(`"msg":"${message}"`))
    // Text of the other stream may precede the JSON.
    .map((line) => JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>);
