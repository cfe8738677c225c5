/** The declared tool names, and names that models invent. */
export interface ToolNames {
  has(name: string): boolean;
  isPrefix(text: string): boolean;
  /** Whether a text has the form of a tool's name. Never where no tool is declared. */
  canBeUndeclared(text: string): boolean;
  /** Character codes with which names start. */
  readonly firstCodes: readonly number[];
}

/**
 * Form of a tool's name in all protocols (docs/protocols/compatible.md), with the dots that models write after a namespace, and
 * the length that most protocols allow.
 */
const NAME = /^[\w.-]{1,64}$/;

/**
 * Words in the position of a name: the type of a call in DeepSeek's older form, Command R's answer without a tool, and
 * functionary's recipient of an answer.
 */
const NO_TOOL = /^(?:function|directly[-_]answer|all)$/;

export function createToolNames(names: readonly string[]): ToolNames {
  const nameSet = new Set(names);
  const sorted = [...nameSet].toSorted((a, b) => (a < b ? -1 : 1));
  return {
    has: (name) => nameSet.has(name),
    firstCodes: [...nameSet].map((name) => name.charCodeAt(0)),
    canBeUndeclared: (text) => nameSet.size > 0 && NAME.test(text) && !NO_TOOL.test(text),
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
