/** Detects the closing bracket of a JSON object or array that arrives in pieces. */
export interface JsonEndDetector {
  push(text: string): void;
  /** Returns true once the closing bracket has arrived; never for other JSON values. */
  isReached(): boolean;
  /** Returns true if an object, an array or a string has started and not ended. */
  isOpen(): boolean;
}

export function createJsonEndDetector(): JsonEndDetector {
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let isReached = false;
  return {
    push(text) {
      for (const character of text) {
        if (isReached) return;
        if (isEscaped) isEscaped = false;
        else if (isInString) {
          if (character === '\\') isEscaped = true;
          else if (character === '"') isInString = false;
        } else if (character === '"') isInString = true;
        else if (character === '{' || character === '[') depth++;
        else if (character === '}' || character === ']') isReached = --depth === 0;
      }
    },
    isReached: () => isReached,
    isOpen: () => !isReached && (depth !== 0 || isInString),
  };
}
