/** Converts what models write in Python instead of JSON, while it arrives. All other text stays as it is. */
export interface JsonNormalizer {
  /** Returns the text that is certain. */
  take(text: string): string;
  /** Returns the rest. */
  end(): string;
}

const PYTHON_WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };

/** Characters after a backslash in JSON. */
const ESCAPED = '"\\/bfnrtu';

/**
 * Creates a converter of single quotes, `True`, `False` and `None`. Line breaks in strings, and backslashes that escape
 * nothing, are escaped.
 */
export function createJsonNormalizer(): JsonNormalizer {
  let quote = '';
  let isEscaped = false;
  /** Letters of a word that is not complete. */
  let word = '';

  const takeEscaped = (character: string): string => {
    isEscaped = false;
    if (character === "'" && quote === "'") return character;
    return (ESCAPED.includes(character) ? '\\' : '\\\\') + toStringText(character);
  };
  const toStringText = (character: string): string =>
    character < ' ' ? JSON.stringify(character).slice(1, -1) : character;
  const takeStringCharacter = (character: string): string => {
    if (isEscaped) return takeEscaped(character);
    if (character === '\\') {
      isEscaped = true;
      return '';
    }
    if (character === quote) {
      quote = '';
      return '"';
    }
    return character === '"' ? '\\"' : toStringText(character);
  };
  const endWord = (): string => {
    const ended = PYTHON_WORDS[word] ?? word;
    word = '';
    return ended;
  };
  const takeCharacter = (character: string): string => {
    if (quote !== '') return takeStringCharacter(character);
    if (/[A-Za-z]/.test(character)) {
      word += character;
      return '';
    }
    if (character !== '"' && character !== "'") return endWord() + character;
    quote = character;
    return `${endWord()}"`;
  };
  return {
    take(text) {
      let json = '';
      for (const character of text) json += takeCharacter(character);
      return json;
    },
    end: endWord,
  };
}
