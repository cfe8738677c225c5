import { MARK_OR_CODE, parseMarkNumbers } from './citation-marks.ts';

export interface MarkedText {
  readonly text: string;
  /** Source numbers of a citation mark; absent in code, where marks have no meaning. */
  readonly marks?: readonly number[];
  readonly isCode: boolean;
}

/** Tracks code in a text that arrives in parts. No part may end inside a row of backticks or tildes. */
export interface CodeTracker {
  read(text: string): readonly MarkedText[];
  /** Whether the text so far ends inside a fence. */
  isFenced(): boolean;
}

export function createCodeTracker(): CodeTracker {
  /** Character of the open fence: only a fence of the same character closes it. */
  let fence: string | undefined;
  let hasTick = false;
  let isLineStart = true;

  const classify = (text: string, isToken: boolean): MarkedText => {
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
    const marks = isToken && !isCode ? parseMarkNumbers(text) : [];
    return { text, isCode, ...(marks.length > 0 && { marks }) };
  };

  return {
    read: (text) =>
      text
        .split(MARK_OR_CODE)
        .map((part, i) => ({ part, isToken: i % 2 === 1 }))
        .filter(({ part }) => part !== '')
        .map(({ part, isToken }) => classify(part, isToken)),
    isFenced: () => fence !== undefined,
  };
}
