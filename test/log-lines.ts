/** What a service's log says with this message, in order, from what its process printed; a line that is not whole yet is left out. */
export const logLines = (output: string, message: string): readonly Readonly<Record<string, unknown>>[] =>
  output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.includes(`"msg":"${message}"`))
    // Words of the other stream may stand before it.
    .map((line) => JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>);
