import { isBlank } from './call-pattern.ts';

/** Parses a call from after its name, or from before its arguments, to its end. */
export interface CallBodyParser {
  /**
   * Takes the character at a position.
   * @returns `done` when the call ends with the character, `done-before` when it ended before it.
   */
  take(code: number, at: number): 'more' | 'done' | 'done-before';
  /** Positions at which the arguments start and end; undefined while unknown. */
  readonly argumentsStart: number | undefined;
  readonly argumentsEnd: number | undefined;
  /** The arguments are neither an object nor a list, so they can be judged only when they are complete. */
  readonly isScalar: boolean;
}

const QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

const ARGUMENT_KEYS: ReadonlySet<string> = new Set(['arguments', 'parameters']);

/**
 * Creates a parser that finds the arguments in a call's JSON without building values. It accepts invalid JSON as far as
 * possible; text that cannot belong to the call ends it.
 *
 * @param entry `members`: parsing starts after a member of an object; `value`: before the arguments.
 * @param isObject The arguments are a member of an object, and the end of the object ends the call.
 */
export function createCallBodyParser(entry: 'members' | 'value', isObject: boolean): CallBodyParser {
  let state: 'after-member' | 'key' | 'after-key' | 'before-value' | 'value' = 'before-value';
  if (entry === 'members') state = 'after-member';
  let key = '';
  let keyQuote = QUOTE;
  let isEscaped = false;
  /** The current value is the arguments, not the value of another member. */
  let isArguments = entry === 'value';
  let value = createValueScanner();

  const endValue = (at: number): void => {
    if (isArguments) parser.argumentsEnd = at;
    isArguments = false;
    state = 'after-member';
  };

  const takeAfterMember = (code: number): 'more' | 'done' | 'done-before' => {
    if (!isObject) return 'done-before';
    if (isBlank(code) || code === COMMA) return 'more';
    if (code === BRACE_END) return 'done';
    if (!isQuote(code)) return 'done-before';
    state = 'key';
    keyQuote = code;
    key = '';
    return 'more';
  };

  const takeKey = (code: number): void => {
    if (!isEscaped && code === keyQuote) state = 'after-key';
    else if (key.length < KEY_CHARACTERS_MAX) key += String.fromCharCode(code);
    isEscaped = !isEscaped && code === BACKSLASH;
  };

  const takeAfterKey = (code: number): 'more' | 'done-before' => {
    if (isBlank(code)) return 'more';
    if (code !== COLON) return 'done-before';
    state = 'before-value';
    isArguments = parser.argumentsStart === undefined && ARGUMENT_KEYS.has(key);
    return 'more';
  };

  const takeValue = (code: number, at: number): 'more' | 'done' | 'done-before' => {
    if (state === 'before-value') {
      if (isBlank(code)) return 'more';
      value = createValueScanner();
      if (!value.canStart(code)) {
        isArguments = false;
        state = 'after-member';
        return takeAfterMember(code);
      }
      state = 'value';
      if (isArguments) {
        parser.argumentsStart = at;
        parser.isScalar = code !== BRACE && code !== BRACKET;
      }
    }
    const end = value.take(code);
    if (end === 'more') return 'more';
    endValue(end === 'done' ? at + 1 : at);
    if (end === 'done-before') return takeAfterMember(code);
    return 'more';
  };

  // Fields, not getters: see stages/text-buffer.ts.
  const parser: { -readonly [Name in keyof CallBodyParser]: CallBodyParser[Name] } = {
    argumentsStart: undefined,
    argumentsEnd: undefined,
    isScalar: false,
    take(code, at) {
      switch (state) {
        case 'after-member':
          return takeAfterMember(code);
        case 'key':
          takeKey(code);
          return 'more';
        case 'after-key':
          return takeAfterKey(code);
        case 'before-value':
        case 'value':
          return takeValue(code, at);
      }
    },
  };
  return parser;
}

/** Longer than every key that is compared. */
const KEY_CHARACTERS_MAX = 16;

/** Finds the end of one JSON value. */
function createValueScanner() {
  let depth = 0;
  /** Quote of the string that is open. */
  let quote: number | undefined;
  let isEscaped = false;
  let isWord = false;
  return {
    canStart: (code: number): boolean =>
      code === BRACE || code === BRACKET || isQuote(code) || isLiteralCharacter(code),
    take(code: number): 'more' | 'done' | 'done-before' {
      if (quote !== undefined) {
        if (!isEscaped && code === quote) quote = undefined;
        isEscaped = !isEscaped && code === BACKSLASH;
        return quote !== undefined || depth > 0 ? 'more' : 'done';
      }
      if (isWord) return isLiteralCharacter(code) ? 'more' : 'done-before';
      if (isQuote(code)) quote = code;
      else if (code === BRACE || code === BRACKET) depth++;
      else if (code === BRACE_END || code === BRACKET_END) return --depth === 0 ? 'done' : 'more';
      else isWord = depth === 0;
      return 'more';
    },
  };
}

/** JSON has double quotes, Python also single ones. */
const isQuote = (code: number): boolean => code === QUOTE || code === SINGLE_QUOTE;

/** Whether a character belongs to a number, true, false or null. */
const isLiteralCharacter = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  code === 0x2b ||
  code === 0x2d ||
  code === 0x2e;
