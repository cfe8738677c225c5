import { MARK_OR_CODE, numbersOf } from './marks.ts';

export interface Part {
  readonly text: string;
  /** It is a mark: what it points at. Marks in code are code. */
  readonly marks?: readonly number[];
  readonly isCode: boolean;
}

/** Follows where code is in a text that comes in parts, none of which ends within a row of backticks or tildes. */
export interface CodeWatch {
  read(text: string): readonly Part[];
  /** The text so far ends inside a fence. */
  isFenced(): boolean;
}

export function createCodeWatch(): CodeWatch {
  /** What the fence is made of that is open: no other closes it. */
  let fence: string | undefined;
  let hasTick = false;
  let isLineStart = true;

  const look = (text: string, isToken: boolean): Part => {
    const wasCode = fence !== undefined || hasTick;
    if (isToken && text === '\n') {
      isLineStart = true;
      hasTick = false;
    } else if (isToken && /^[`~]/.test(text)) {
      const sign = text.slice(0, 1);
      if (isLineStart && text.length >= 3 && (fence ?? sign) === sign) fence = fence === undefined ? sign : undefined;
      else if (fence === undefined && sign === '`') hasTick = !hasTick;
      isLineStart = false;
    } else if (text.trim() !== '') isLineStart = false;
    const isCode = wasCode || fence !== undefined || hasTick;
    const marks = isToken && !isCode ? numbersOf(text) : [];
    return { text, isCode, ...(marks.length > 0 && { marks }) };
  };

  return {
    read: (text) =>
      text
        .split(MARK_OR_CODE)
        .map((part, i) => ({ part, isToken: i % 2 === 1 }))
        .filter(({ part }) => part !== '')
        .map(({ part, isToken }) => look(part, isToken)),
    isFenced: () => fence !== undefined,
  };
}
