/** Watches JSON text go by, in pieces of any size, for the last bracket of its object or list. */
export interface JsonEnd {
  push(text: string): void;
  /** Never for what is neither. */
  isReached(): boolean;
  /** It began and lacks its end: an object, a list or a string. */
  isOpen(): boolean;
}

export function createJsonEnd(): JsonEnd {
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
