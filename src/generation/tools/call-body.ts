import { isBlank } from './call-pattern.ts';

/** A call from behind its name, or from before its arguments, to its end. */
export interface CallBody {
  /**
   * Takes the character at a position.
   * @returns `over` when the call ended with it, `over-before` when it ended before it.
   */
  take(code: number, at: number): 'more' | 'over' | 'over-before';
  /** Where the arguments begin and where they have ended; undefined as long as that is not known. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** The arguments are no object and no list: only whole do they say what they are. */
  readonly isScalar: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

const ARGUMENT_KEYS: ReadonlySet<string> = new Set(['arguments', 'parameters']);

/**
 * Reads a call's JSON without building it. What is no JSON is taken as far as it makes sense: text that cannot belong to the
 * call any more ends it.
 *
 * @param begins `members`: behind a member of an object; `value`: before the arguments.
 * @param isObject The arguments are a member of an object, whose end is the call's.
 */
export function createCallBody(begins: 'members' | 'value', isObject: boolean): CallBody {
  let state: 'behind-member' | 'key' | 'behind-key' | 'before-value' | 'value' = 'before-value';
  if (begins === 'members') state = 'behind-member';
  let key = '';
  let isEscaped = false;
  /** What is read now is the arguments, not another member's value. */
  let isArguments = begins === 'value';
  let value = createValue();

  const endValue = (at: number): void => {
    if (isArguments) body.to = at;
    isArguments = false;
    state = 'behind-member';
  };

  const behindMember = (code: number): 'more' | 'over' | 'over-before' => {
    if (!isObject) return 'over-before';
    if (isBlank(code) || code === COMMA) return 'more';
    if (code === BRACE_END) return 'over';
    if (code !== QUOTE) return 'over-before';
    state = 'key';
    key = '';
    return 'more';
  };

  const takeKey = (code: number): void => {
    if (!isEscaped && code === QUOTE) state = 'behind-key';
    else if (key.length < KEY_CHARACTERS_MAX) key += String.fromCharCode(code);
    isEscaped = !isEscaped && code === BACKSLASH;
  };

  const behindKey = (code: number): 'more' | 'over-before' => {
    if (isBlank(code)) return 'more';
    if (code !== COLON) return 'over-before';
    state = 'before-value';
    isArguments = body.from === undefined && ARGUMENT_KEYS.has(key);
    return 'more';
  };

  const takeValue = (code: number, at: number): 'more' | 'over' | 'over-before' => {
    if (state === 'before-value') {
      if (isBlank(code)) return 'more';
      value = createValue();
      if (!value.canBegin(code)) {
        isArguments = false;
        state = 'behind-member';
        return behindMember(code);
      }
      state = 'value';
      if (isArguments) {
        body.from = at;
        body.isScalar = code !== BRACE && code !== BRACKET;
      }
    }
    const end = value.take(code);
    if (end === 'more') return 'more';
    endValue(end === 'over' ? at + 1 : at);
    if (end === 'over-before') return behindMember(code);
    return 'more';
  };

  // Fields, not getters: see stages/held-text.ts.
  const body: { -readonly [Name in keyof CallBody]: CallBody[Name] } = {
    from: undefined,
    to: undefined,
    isScalar: false,
    take(code, at) {
      switch (state) {
        case 'behind-member':
          return behindMember(code);
        case 'key':
          takeKey(code);
          return 'more';
        case 'behind-key':
          return behindKey(code);
        case 'before-value':
        case 'value':
          return takeValue(code, at);
      }
    },
  };
  return body;
}

/** Longer than any key that matters. */
const KEY_CHARACTERS_MAX = 16;

/** Finds the end of one JSON value. */
function createValue() {
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let isWord = false;
  return {
    canBegin: (code: number): boolean => code === BRACE || code === BRACKET || code === QUOTE || isWordCharacter(code),
    take(code: number): 'more' | 'over' | 'over-before' {
      if (isInString) {
        if (!isEscaped && code === QUOTE) isInString = false;
        isEscaped = !isEscaped && code === BACKSLASH;
        return isInString || depth > 0 ? 'more' : 'over';
      }
      if (isWord) return isWordCharacter(code) ? 'more' : 'over-before';
      if (code === QUOTE) isInString = true;
      else if (code === BRACE || code === BRACKET) depth++;
      else if (code === BRACE_END || code === BRACKET_END) return --depth === 0 ? 'over' : 'more';
      else isWord = depth === 0;
      return 'more';
    },
  };
}

/** Of numbers, true, false and null. */
const isWordCharacter = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  code === 0x2b ||
  code === 0x2d ||
  code === 0x2e;
