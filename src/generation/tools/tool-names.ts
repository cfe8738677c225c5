/** The declared names, and what could still become one of them. */
export interface ToolNames {
  has(name: string): boolean;
  isBeginning(text: string): boolean;
}

export function createToolNames(names: readonly string[]): ToolNames {
  const known = new Set(names);
  const sorted = [...known].toSorted((a, b) => (a < b ? -1 : 1));
  return {
    has: (name) => known.has(name),
    isBeginning(text) {
      // The first name that does not come before the text begins with it, if any does.
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
