/** Tracks whether a text is inside a multiline string: triple quotes, backticks or a heredoc. */
export interface MultilineStringTracker {
  push(character: string): void;
  /** Also true when the current line starts a heredoc. */
  isInside(): boolean;
}

/**
 * Matches a heredoc word of shells, Ruby, Perl or PHP at the end of a line; after shift and stream operators other text
 * follows.
 */
const HEREDOC = /<{2,3}[-~]?[ \t]*(?:(["'])(\w+)\1|\\?([A-Z_][A-Z0-9_]*)[ \t]*(?:[|>&)].*)?$)/;

/** Characters kept of a line, from its end: enough to find a heredoc's word. */
const LINE_CHARS_MAX = 256;

/**
 * Guesses without knowing the language. In doubt it reports that the text is inside a string.
 */
export function createMultilineStringTracker(): MultilineStringTracker {
  let closing: { readonly marks: string } | { readonly word: string } | undefined;
  let line = '';
  let quotes = '';
  let isEscaped = false;

  const isAtHeredocEnd = (): boolean => closing !== undefined && 'word' in closing && line.trim() === closing.word;
  const findHeredocWord = (): string | undefined => {
    const found = HEREDOC.exec(line);
    return found?.[2] ?? found?.[3];
  };

  const endLine = (): void => {
    if (isAtHeredocEnd()) closing = undefined;
    else if (!closing) {
      const word = findHeredocWord();
      if (word !== undefined) closing = { word };
    }
    line = '';
    quotes = '';
  };

  const handleMark = (marks: string): void => {
    if (closing === undefined) closing = { marks };
    else if ('marks' in closing && closing.marks === marks) closing = undefined;
  };

  return {
    push(character) {
      if (character === '\n') return endLine();
      line = line.length < LINE_CHARS_MAX ? line + character : line.slice(1) + character;
      const wasEscaped = isEscaped;
      isEscaped = character === '\\' && !wasEscaped;
      if (wasEscaped) quotes = '';
      else if (character === '`') handleMark('`');
      else if (character === '"' || character === "'") {
        quotes = quotes.startsWith(character) ? quotes + character : character;
        if (quotes.length < 3) return;
        handleMark(quotes);
        quotes = '';
      } else quotes = '';
    },
    isInside: () => (closing ? !isAtHeredocEnd() : findHeredocWord() !== undefined),
  };
}
