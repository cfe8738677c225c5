import { escapeJson, type ArgumentWriter } from './argument-writer.ts';

/** Converts values that are written as in Python, or with keys without quotes, to JSON while they arrive. */
export interface LiteralConverter {
  /** Takes a character. @returns false for one that cannot belong to the value: it was not taken. */
  take(character: string): boolean;
  /** Counts the last characters that were taken for the start of a long quote, and may be none. */
  countUncertain(): number;
  /** Whether a string, list or object is still open. */
  isOpen(): boolean;
  /** Ends what is still open. */
  end(): void;
}

/** `arguments`: pairs without braces around them. `value`: one value. */
type Kind = 'arguments' | 'object' | 'list' | 'value';

interface Frame {
  kind: Kind;
  /** JSON text of the first element between braces: a key if a colon follows, else an element of a Python set. */
  firstElement?: string;
  /** Whether the list ends with a brace. */
  isSet?: boolean;
  count: number;
  expects: 'key' | 'assignment' | 'value' | 'separator';
}

export interface LiteralConverterOptions {
  readonly kind: 'arguments' | 'value';
  /** Text around a string, besides quotes of one character; what stands in it has no escapes. */
  readonly quote?: string;
  readonly writer: Pick<ArgumentWriter, 'startKey' | 'write'>;
  /** Converts the value of an argument that is a word; undefined where the word decides. */
  readonly toJson?: (word: string, key: string) => string | undefined;
}

/** Nesting of lists and objects. Deeper text is no value. */
const DEPTH_MAX = 64;

export function createLiteralConverter({
  kind,
  quote: longQuote = '',
  writer,
  toJson = () => undefined,
}: LiteralConverterOptions): LiteralConverter {
  const frames: Frame[] = [createFrame(kind)];
  let token: 'none' | 'word' | 'string' = 'none';
  /** Key of the current argument. */
  let argument = '';
  /** Key of the current object's first member. */
  let firstKey = '';
  /** Whether the string has ended, unless the next sign shows that its quote belongs to it. */
  let mayHaveEnded = false;
  /** Blanks after such a quote. */
  let blanks = '';
  /** The word, the key, or the end of a string that may be the start of its quote. */
  let text = '';
  let quote = '';
  let isEscaped = false;
  /** Digits of an escape by number that have arrived; undefined outside of one. */
  let digits: string | undefined;
  let digitsMax = 0;
  /** Start of the long quote, when it is not certain yet. */
  let openedQuote = '';

  const getFrame = (): Frame => frames.at(-1) ?? createFrame(kind);
  const isKey = (): boolean => getFrame().expects === 'key';

  const writeKey = (key: string, json: string): void => {
    const frame = getFrame();
    frame.expects = 'assignment';
    if (frame.kind === 'object' && frame.count === 0) {
      frame.firstElement = json;
      firstKey = key;
      return;
    }
    if (frame.kind === 'arguments') {
      argument = key;
      writer.startKey(key);
    } else writer.write(`, ${JSON.stringify(key)}: `);
  };
  /** Ends the first element between braces that no colon follows: the braces are those of a set, which becomes a list. */
  const startSet = (): void => {
    const frame = getFrame();
    if (frame.kind !== 'object' || frame.firstElement === undefined || frame.expects !== 'assignment') return;
    writer.write(`[${frame.firstElement}`);
    frame.kind = 'list';
    frame.count = 1;
    frame.expects = 'separator';
    frame.isSet = true;
  };
  const startValue = (json: string): void => {
    const frame = getFrame();
    writer.write(frame.kind === 'list' && frame.count > 0 ? `, ${json}` : json);
  };
  const endValue = (): void => {
    const frame = getFrame();
    frame.count++;
    frame.expects = 'separator';
  };

  const endWord = (): void => {
    token = 'none';
    if (isKey()) return writeKey(text, toJsonWord(text.trimEnd()));
    const word = text.trimEnd();
    startValue((getFrame().kind === 'arguments' ? toJson(word, argument) : undefined) ?? toJsonWord(word));
    endValue();
  };
  const startString = (mark: string): void => {
    token = 'string';
    quote = mark;
    text = '';
    if (!isKey()) startValue('"');
  };
  const endString = (): void => {
    token = 'none';
    const rest = text.slice(0, text.length - quote.length);
    if (isKey()) return writeKey(rest, JSON.stringify(rest));
    writer.write(`${escapeJson(rest)}"`);
    endValue();
  };
  const takeStringCharacter = (character: string): void => {
    if (digits !== undefined) {
      digits += character;
      if (digits.length < digitsMax) return;
      text += String.fromCharCode(Number.parseInt(digits, 16) || 0);
      digits = undefined;
      return;
    }
    if (isEscaped) {
      isEscaped = false;
      if (character === 'u' || character === 'x') {
        digits = '';
        digitsMax = character === 'u' ? 4 : 2;
        return;
      }
      // As in Python, a backslash that escapes nothing stays.
      text += ESCAPES.get(character) ?? `\\${character}`;
      return;
    }
    if (character === '\\' && quote.length === 1) {
      isEscaped = true;
      return;
    }
    text += character;
    if (text.endsWith(quote)) {
      if (quote.length > 1) endString();
      else mayHaveEnded = true;
      return;
    }
    if (isKey() || text.length < quote.length) return;
    const certain = text.length - quote.length + 1;
    writer.write(escapeJson(text.slice(0, certain)));
    text = text.slice(certain);
  };

  /** Takes the character after a quote. @returns whether the quote belongs to the string. */
  const reopenString = (character: string): boolean => {
    if (/\s/.test(character)) {
      blanks += character;
      return true;
    }
    mayHaveEnded = false;
    const isText = !(isKey() ? SIGNS_AFTER_KEY : SIGNS_AFTER_STRING).includes(character);
    if (isText) {
      for (const one of blanks + character) takeStringCharacter(one);
    } else endString();
    blanks = '';
    return isText;
  };

  const open = (opened: Kind): boolean => {
    if (getFrame().expects !== 'value' || frames.length > DEPTH_MAX) return false;
    // The first element between braces decides what they are.
    startValue(opened === 'object' ? '' : '[');
    frames.push(createFrame(opened));
    return true;
  };
  const close = (closed: Kind): boolean => {
    if (closed === 'object') startSet();
    const { kind: opened, isSet = false, count } = getFrame();
    if (frames.length < 2 || (isSet ? 'object' : opened) !== closed) return false;
    const isEmptyObject = opened === 'object' && count === 0;
    writer.write(opened === 'object' ? (isEmptyObject ? '{}' : '}') : ']');
    frames.pop();
    endValue();
    return true;
  };
  const takeSeparator = (): boolean => {
    startSet();
    const frame = getFrame();
    if (frame.expects !== 'separator' || frame.kind === 'value') return false;
    frame.expects = frame.kind === 'list' ? 'value' : 'key';
    return true;
  };
  const takeAssignment = (): boolean => {
    const frame = getFrame();
    if (frame.expects !== 'assignment') return false;
    if (frame.kind === 'object' && frame.count === 0) writer.write(`{${JSON.stringify(firstKey)}: `);
    frame.expects = 'value';
    return true;
  };

  const takeMark = (character: string): boolean => {
    const longer = openedQuote + character;
    if (longQuote.length > 1 && longQuote.startsWith(longer)) {
      openedQuote = longer === longQuote ? '' : longer;
      if (longer === longQuote) startString(longQuote);
      return true;
    }
    if (openedQuote !== '') return false;
    if (/\s/.test(character)) return true;
    switch (character) {
      case ',':
        return takeSeparator();
      case ':':
      case '=':
        return takeAssignment();
      case '{':
        return open('object');
      case '[':
      case '(':
        return open('list');
      case '}':
        return close('object');
      case ']':
      case ')':
        return close('list');
    }
    const canStart = getFrame().expects === 'key' || getFrame().expects === 'value';
    if (!canStart) return false;
    if (character === '"' || character === "'") startString(character);
    else if (isWordCharacter(character)) {
      token = 'word';
      text = character;
    } else return false;
    return true;
  };

  return {
    take(character) {
      if (token === 'string' && !mayHaveEnded) {
        takeStringCharacter(character);
        return true;
      }
      if (token === 'string' && reopenString(character)) return true;
      if (token === 'word') {
        // A text without quotes may have several words.
        const continues = isWordCharacter(character) || (character === ' ' && kind === 'arguments' && !isKey());
        if (continues && text.length < WORD_CHARACTERS_MAX) {
          text += character;
          return true;
        }
        endWord();
      }
      return takeMark(character);
    },
    countUncertain: () => openedQuote.length,
    isOpen: () => (token === 'string' && !mayHaveEnded) || frames.length > 1,
    end() {
      if (token === 'word') endWord();
      else if (token === 'string') {
        if (!mayHaveEnded) quote = '';
        endString();
      }
      if (getFrame().expects === 'value' && getFrame().kind !== 'list') writer.write('null');
      while (frames.length > 1) close(getFrame().isSet ? 'object' : getFrame().kind);
    },
  };
}

/** Returns the JSON text of a complete Python literal; undefined for other text. */
export function convertLiteral(text: string): string | undefined {
  let json = '';
  const writer = {
    startKey: () => {},
    write(part: string) {
      json += part;
    },
  };
  if (!/^[[({]/.test(text) && !WORDS.has(text)) return undefined;
  const converter = createLiteralConverter({ kind: 'value', writer });
  for (const character of text) if (!converter.take(character)) return undefined;
  if (converter.isOpen()) return undefined;
  converter.end();
  return json;
}

const createFrame = (kind: Kind): Frame => ({
  kind,
  count: 0,
  expects: kind === 'arguments' || kind === 'object' ? 'key' : 'value',
});

/** Signs that may follow a string; `<` starts the mark that ends a call. */
const SIGNS_AFTER_STRING = ',)]}<';
/** A comma or a brace follows an element of a set. */
const SIGNS_AFTER_KEY = ':=,}';

const WORD_CHARACTERS_MAX = 1_024;
const isWordCharacter = (character: string): boolean => /[\p{L}\p{N}_.+-]/u.test(character);

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ...['\\', '/', '"', "'"].map((character) => [character, character] as const),
]);

const WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
]);

const toJsonWord = (word: string): string =>
  WORDS.get(word) ?? (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word) ? word : JSON.stringify(word));
