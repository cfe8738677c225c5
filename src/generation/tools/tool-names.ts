/** The declared tool names. */
export interface ToolNames {
  has(name: string): boolean;
  isPrefix(text: string): boolean;
  /** Character codes with which names start. */
  readonly firstCodes: readonly number[];
}

export function createToolNames(names: readonly string[]): ToolNames {
  const nameSet = new Set(names);
  const sorted = [...nameSet].toSorted((a, b) => (a < b ? -1 : 1));
  return {
    has: (name) => nameSet.has(name),
    firstCodes: [...nameSet].map((name) => name.charCodeAt(0)),
    isPrefix(text) {
      // If a name starts with the text, the first name that does not sort before the text does.
      let low = 0;
      let high = sorted.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((sorted[middle] ?? '') < text) low = middle + 1;
        else high = middle;
      }
      return sorted[low]?.startsWith(text) ?? false;
    },
  };
}
