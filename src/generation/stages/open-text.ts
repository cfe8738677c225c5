/** Whether a text, read to where it is, is inside a string of several lines: of three quotes, of backticks, a heredoc. */
export interface OpenText {
  take(character: string): void;
  /** Also true where one begins behind this line. */
  isOpen(): boolean;
}

/**
 * A heredoc's word, for shells, Ruby, Perl and PHP, at the end of what a line has of it: a shift or a stream's operator is
 * followed by more.
 */
const HEREDOC = /<{2,3}[-~]?[ \t]*(?:(["'])(\w+)\1|\\?([A-Z_][A-Z0-9_]*)[ \t]*(?:[|>&)].*)?$)/;

/** A line's beginning is enough for a heredoc's end, and its end for its word. */
const LINE_CHARS_MAX = 256;

/**
 * Guesses without knowing the language. Where it is wrong, it says more often that a text is open than that it is not.
 */
export function createOpenText(): OpenText {
  let closing: { readonly marks: string } | { readonly word: string } | undefined;
  let line = '';
  let quotes = '';
  let isEscaped = false;

  const isAtWord = (): boolean => closing !== undefined && 'word' in closing && line.trim() === closing.word;
  const wordOf = (): string | undefined => {
    const found = HEREDOC.exec(line);
    return found?.[2] ?? found?.[3];
  };

  const endLine = (): void => {
    if (isAtWord()) closing = undefined;
    else if (!closing) {
      const word = wordOf();
      if (word !== undefined) closing = { word };
    }
    line = '';
    quotes = '';
  };

  const takeMark = (marks: string): void => {
    if (closing === undefined) closing = { marks };
    else if ('marks' in closing && closing.marks === marks) closing = undefined;
  };

  return {
    take(character) {
      if (character === '\n') return endLine();
      line = line.length < LINE_CHARS_MAX ? line + character : line.slice(1) + character;
      const wasEscaped = isEscaped;
      isEscaped = character === '\\' && !wasEscaped;
      if (wasEscaped) quotes = '';
      else if (character === '`') takeMark('`');
      else if (character === '"' || character === "'") {
        quotes = quotes.startsWith(character) ? quotes + character : character;
        if (quotes.length < 3) return;
        takeMark(quotes);
        quotes = '';
      } else quotes = '';
    },
    isOpen: () => (closing ? !isAtWord() : wordOf() !== undefined),
  };
}
