import type { JsonSchema } from '../../core/grammar.ts';
import { createArgumentWriter, createWritingBody, escapeJson } from './argument-writer.ts';
import {
  allowsText,
  getItems,
  allowsMembers,
  getOnlyType,
  getProperty,
  getValueType,
  toAllowedJson,
  toJsonValue,
  type ValueType,
} from './argument-value.ts';
import type { CallBody } from './call-body.ts';
import { isRecord } from '../../lib/is-record.ts';
import { splitTags } from './split-enclosure.ts';
import { KEY_PLACE, TYPE_PLACE, type ArgumentSyntax, type ValueMarks } from './tool-formats.ts';

type TagsSyntax = Extract<ArgumentSyntax, { type: 'tags' }>;

/** Characters of a key, or of blanks, with marks. More end the call: the text is no argument. */
const KEY_CHARACTERS_MAX = 256;

/**
 * Creates a parser of arguments between marks. The number of blanks between marks may differ. A string is written while it
 * arrives, except for characters that can be the start of the mark after it; another value when it is complete. The mark
 * after a value may be missing if the next argument, or the end of the call, starts on a line of its own.
 *
 * @param after Text after the arguments.
 */
export function createTagsBody(syntax: TagsSyntax, parameters: JsonSchema | undefined, after: string): CallBody {
  const writer = createArgumentWriter();
  const keyStart = createStartPattern(syntax);
  const keyEnd = createKeyPattern(syntax);
  const keyEndCharacters = [syntax.text, syntax.other].map(({ beforeValue }) => beforeValue.trim().slice(-1));
  /** Texts on a line of their own that end a value whose mark is missing: of the next key, and of the call. */
  const [nextKey = ''] = /^<[^<>]*>?/.exec(syntax.beforeKey.trim()) ?? [];
  /** The mark of a call may start with a special token. */
  const [callEnd = ''] = /^(?:<[^<>]*>?|[^\w\s]\S*?<\/[^<>]*>)/.exec(after.trim()) ?? [];
  const implicitEnds = [nextKey, callEnd];
  /** Tags that are complete, as in GLM, end such a value on its own line too. */
  const areComplete = /^<\w+>$/.test(syntax.beforeKey.trim());
  /** Such a tag is also a text that a value may contain, unless a key and the mark after it follow. */
  const nextKeyPattern = areComplete
    ? new RegExp(
        `${RegExp.escape(nextKey)}\\s*[\\w.-]{1,64}\\s*${RegExp.escape(splitTags(syntax.other.beforeValue)[0] ?? '')}$`,
      )
    : undefined;
  /** The last characters of a value. */
  let recent = '';
  const marksStrings = syntax.text.beforeValue !== syntax.other.beforeValue;
  /** If `<` starts a key, `</` ends the call. */
  const hasKeyMark = syntax.beforeKey.trim() !== '';
  const mayEndInKey = syntax.beforeKey.endsWith('<');
  let state: 'between' | 'key' | 'value' | 'ended' = 'between';
  let seen = '';
  /** Characters of the mark before the key. */
  let keyStartLength = 0;
  let value = createValue(syntax.other, 'value');
  /** Key of a value that may be all arguments. */
  let wrapper: string | undefined;

  const takeBetween = (): 'more' | 'done-before' => {
    const match = hasKeyMark ? keyStart.exec(seen) : null;
    if (!hasKeyMark && KEY_CHARACTER.test(seen.slice(-1))) {
      seen = seen.slice(-1);
      body.extraCharacters = 0;
      state = 'key';
      return 'more';
    }
    if (match) {
      keyStartLength = seen.length;
      seen = '';
      body.extraCharacters = mayEndInKey ? keyStartLength : 0;
      state = 'key';
      return 'more';
    }
    if (seen.length <= KEY_CHARACTERS_MAX && canBecomeKeyStart(seen, syntax)) {
      body.extraCharacters = seen.length;
      return 'more';
    }
    // The last character was not taken.
    body.extraCharacters = seen.length - 1;
    finish();
    return 'done-before';
  };
  const takeKey = (): 'more' | 'done' | 'done-before' => {
    if (seen === '/' && mayEndInKey) {
      body.extraCharacters = keyStartLength;
      finish();
      return 'done-before';
    }
    const tagStart = areComplete ? seen.lastIndexOf('<') : -1;
    // Characters that may end the call must stay.
    body.extraCharacters = tagStart >= 0 && callEnd.startsWith(seen.slice(tagStart)) ? seen.length - tagStart : 0;
    if (areComplete && callEnd.length >= LINE_END_CHARS_MIN && seen.endsWith(callEnd)) {
      // A key without a value.
      finish();
      return 'done';
    }
    const match = keyEndCharacters.includes(seen.slice(-1)) ? keyEnd.exec(seen) : null;
    if (!match) return seen.length > KEY_CHARACTERS_MAX ? 'done-before' : 'more';
    const textMark = match[2];
    // The mark before the key may have lost its quote.
    const written = match[1] ?? '';
    // A key without a value may come before.
    const key = (areComplete ? (written.split(nextKey).at(-1) ?? '') : written).trim().replace(/^["']/, '');
    const property = getProperty(parameters, key);
    wrapper = property === undefined && WRAPPER_KEYS.has(key) ? key : undefined;
    if (wrapper === undefined) writer.startKey(key);
    const isTextMark =
      textMark !== undefined && marksStrings && wrapper === undefined && allowsText(property, parameters);
    const hasType = marksStrings && match[3] === undefined;
    const type = isTextMark ? 'text' : hasType || wrapper !== undefined ? 'value' : getValueType(property, parameters);
    const marks = withKey(textMark === undefined ? syntax.other : syntax.text, key);
    value = createValue(marks, type, {
      hasCdata: syntax.hasCdata,
      implicitEnds: areComplete ? [callEnd] : implicitEnds,
      endsOnOwnLine: areComplete || [nextKey, callEnd].some((mark) => /^(?:<[|｜]|[^<])/.test(mark)),
      keyPattern: nextKeyPattern,
      toJson: (text) => parseNested(text, syntax, property, parameters) ?? toAllowedJson(text, property, parameters),
    });
    seen = '';
    state = 'value';
    return 'more';
  };
  const writeValue = (): void => {
    const json = value.finish();
    if (wrapper !== undefined && hasDeclaredMember(json, parameters)) return writer.writeMembers(json);
    if (wrapper !== undefined) writer.startKey(wrapper);
    writer.write(json);
  };
  const finish = (): void => {
    if (state === 'ended') return;
    if (state === 'value') writeValue();
    state = 'ended';
    body.hasAllArguments = true;
    writer.end();
  };

  const body = createWritingBody(writer, {
    take(code) {
      const character = String.fromCharCode(code);
      if (state === 'value') {
        const end = value.take(character);
        recent = (recent + character).slice(-callEnd.length);
        if (end === undefined) {
          // Characters that may end the call must stay.
          body.extraCharacters = countMarkStart(recent, callEnd);
          writer.write(value.takeCertain());
          return 'more';
        }
        writeValue();
        state = 'between';
        body.extraCharacters = 0;
        if (end === callEnd && end !== '') {
          body.extraCharacters = end.length;
          finish();
          return 'done';
        }
        if (nextKey !== '' && (end === nextKey || (areComplete && end.startsWith(nextKey)))) {
          // The rest of a mark that is more than one tag follows, or the key has come.
          seen = nextKey;
          if (end === nextKey) return takeBetween();
          takeBetween();
          seen = end.slice(nextKey.length);
          return takeKey();
        }
        return 'more';
      }
      seen += character;
      return state === 'between' ? takeBetween() : takeKey();
    },
    end: finish,
  });
  return body;
}

/** Keys under which models write an object of all arguments, if the tool has no argument of this name. */
const WRAPPER_KEYS: ReadonlySet<string> = new Set(['arguments', 'parameters', 'properties', 'input']);

/** Whether a JSON text is an object with an argument that the tool declares. */
function hasDeclaredMember(json: string, parameters: JsonSchema | undefined): boolean {
  const value = JSON.parse(json) as unknown;
  return isRecord(value) && Object.keys(value).some((key) => getProperty(parameters, key) !== undefined);
}

/** Starts a key where no mark stands before it. */
const KEY_CHARACTER = /[\p{L}\p{N}_$]/u;

/** Counts the characters at the end of a text with which a mark starts. */
function countMarkStart(text: string, mark: string): number {
  let length = Math.min(text.length, mark.length);
  while (length > 0 && !mark.startsWith(text.slice(-length))) length--;
  return length;
}

/** Value of one argument, from after the mark before it. */
interface Value {
  /** @returns the mark that ended the value. */
  take(character: string): string | undefined;
  /** Takes JSON text that is certain. */
  takeCertain(): string;
  /** Takes the rest of the JSON text. */
  finish(): string;
}

interface ValueOptions {
  /** Texts that end the value, on a line of their own or (`endsOnOwnLine`) also on that of the value. */
  readonly implicitEnds?: readonly string[];
  readonly endsOnOwnLine?: boolean;
  /** A text at the end of which the value has ended before it. */
  readonly keyPattern?: RegExp | undefined;
  readonly hasCdata?: boolean | undefined;
  /** Converts the text of a value that is not a string. */
  readonly toJson?: (text: string) => string;
}

/** Shorter texts could stand on a line of a value. */
const LINE_END_CHARS_MIN = 5;

/** Characters of a key with the marks around it. */
const KEY_MARK_CHARS_MAX = 96;

const CDATA_START = '<![CDATA[';

function createValue(
  { beforeValue, afterValue }: ValueMarks,
  type: ValueType,
  { hasCdata = false, implicitEnds = [], endsOnOwnLine = false, keyPattern, toJson = toJsonValue }: ValueOptions = {},
): Value {
  let mark = afterValue.trim();
  /** Blanks that the format has around a value do not belong to it. */
  const blankBefore = beforeValue.slice(beforeValue.trimEnd().length);
  const blankAfter = afterValue.slice(0, afterValue.length - afterValue.trimStart().length);
  const lineEnds = implicitEnds
    .filter((end) => end.length >= LINE_END_CHARS_MIN)
    .flatMap((end) => [`\n${end}`, ...(endsOnOwnLine ? [end] : [])]);
  let heldMax = Math.max(mark.length + blankAfter.length, ...lineEnds.map(({ length }) => length));
  /** The end of the value, which may be the start of the mark. */
  let held = '';
  let isStart = true;
  let isBeforeCdata = hasCdata;
  let json = type === 'text' ? '"' : '';
  const parts: string[] = [];
  const release = (text: string): void => {
    if (type === 'text') json += escapeJson(text);
    else parts.push(text);
  };
  const skipBlankBefore = (): void => {
    if (!isStart || held.length < blankBefore.length) return;
    if (held.startsWith(blankBefore)) held = held.slice(blankBefore.length);
    isStart = false;
  };
  /** Skips the start of a section of text. @returns whether more characters decide. */
  const skipCdataStart = (): boolean => {
    if (!isBeforeCdata) return false;
    if (held.length < CDATA_START.length && CDATA_START.startsWith(held)) return true;
    isBeforeCdata = false;
    if (!held.startsWith(CDATA_START)) return false;
    held = held.slice(CDATA_START.length);
    mark = `]]>${mark}`;
    heldMax += 3;
    return false;
  };
  return {
    take(character) {
      held += character;
      skipBlankBefore();
      if (!isStart && skipCdataStart()) return undefined;
      const end = held.endsWith(mark)
        ? mark
        : (lineEnds.find((one) => held.endsWith(one)) ?? (character === '>' ? keyPattern?.exec(held)?.[0] : undefined));
      if (end !== undefined) {
        held = held.slice(0, -end.length);
        return end.trimStart();
      }
      const tag = keyPattern === undefined ? -1 : held.lastIndexOf('<', held.lastIndexOf('>'));
      // A tag stays until the text after it shows whether it is the mark of a key.
      const kept = tag >= 0 && held.length - tag <= KEY_MARK_CHARS_MAX ? Math.max(heldMax, held.length - tag) : heldMax;
      if (held.length > kept) {
        release(held.slice(0, -kept));
        held = held.slice(-kept);
      }
      return undefined;
    },
    takeCertain() {
      const certain = json;
      json = '';
      return certain;
    },
    finish() {
      release(blankAfter !== '' && held.endsWith(blankAfter) ? held.slice(0, -blankAfter.length) : held);
      return type === 'text' ? `${json}"` : toJson(parts.join(''));
    },
  };
}

const withKey = ({ beforeValue, afterValue }: ValueMarks, key: string): ValueMarks => ({
  beforeValue,
  afterValue: afterValue.replaceAll(KEY_PLACE, key),
});

/** Matches a mark with any number of blanks where it has some, around its tags, and any type's name at the place of one. */
const toLoosePattern = (mark: string): string =>
  splitTags(mark)
    .map((word) => word.split(ATTRIBUTE_QUOTE).map(RegExp.escape).join(`["']?`).replaceAll(TYPE_PLACE, '\\w+'))
    .join('\\s*');

/** A quote of an attribute, which models leave out. */
const ATTRIBUTE_QUOTE = /(?<==)"$|^"(?=>)/;

/** Name of the elements of a list that is written as elements. */
const ELEMENT_KEY = 'item';

/**
 * Parses a value that consists of further arguments: an object, or a list of elements named `item`.
 *
 * @param schema Schema of the value. @param root Schema of all arguments, for references.
 * @returns JSON text; undefined for another value.
 */
function parseNested(
  text: string,
  syntax: TagsSyntax,
  schema: unknown,
  root: JsonSchema | undefined,
): string | undefined {
  const { beforeKey, other } = syntax;
  const start = beforeKey.trim();
  const type = getOnlyType(schema, root);
  if (start === '' || !other.afterValue.includes(KEY_PLACE)) return undefined;
  if (text.trim() === '') return type === 'object' ? '{}' : type === 'array' ? '[]' : undefined;
  if (!text.trim().startsWith(start) || !allowsMembers(schema, root)) return undefined;
  const members: { key: string; json: string }[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const key = new RegExp(`^${RegExp.escape(start)}([^/<>]+)${RegExp.escape(other.beforeValue.trim())}`).exec(rest);
    const end = key && other.afterValue.trim().replaceAll(KEY_PLACE, key[1] ?? '');
    const endsAt = end ? findNestedEnd(rest, key[0], end) : -1;
    if (!key || !end || endsAt < 0) return undefined;
    const name = key[1] ?? '';
    const value = rest.slice(key[0].length, endsAt);
    const property = name === ELEMENT_KEY ? getItems(schema) : getProperty(schema, name);
    const json =
      getValueType(property, root) === 'text'
        ? JSON.stringify(value)
        : (parseNested(value, syntax, property, root) ?? toAllowedJson(value, property, root));
    members.push({ key: name, json });
    rest = rest.slice(endsAt + end.length).trimStart();
  }
  const toList = (list: typeof members): string => `[${list.map(({ json }) => json).join(', ')}]`;
  if (type !== 'object' && members.every(({ key }) => key === ELEMENT_KEY)) return toList(members);
  // A key that is repeated is that of a list.
  const lists = [...Map.groupBy(members, ({ key }) => key)];
  return `{${lists.map(([key, list]) => `${JSON.stringify(key)}: ${list.length > 1 ? toList(list) : list[0]?.json}`).join(', ')}}`;
}

/** Returns the position of the mark that ends a value, in which values with the same key may be nested. */
function findNestedEnd(text: string, start: string, end: string): number {
  let depth = 0;
  let at = 0;
  for (;;) {
    const endsAt = text.indexOf(end, at);
    const startsAt = text.indexOf(start, at);
    if (endsAt < 0) return -1;
    if (startsAt >= 0 && startsAt < endsAt) {
      depth++;
      at = startsAt + start.length;
    } else if (--depth === 0) return endsAt;
    else at = endsAt + end.length;
  }
}

const createStartPattern = ({ beforeKey, separator }: TagsSyntax): RegExp =>
  new RegExp(`^\\s*(?:${toLoosePattern(separator)})?\\s*${toLoosePattern(beforeKey)}$`);

const createKeyPattern = ({ text, other }: TagsSyntax): RegExp =>
  new RegExp(
    `^([^]*?)\\s*(?:(${toLoosePattern(text.beforeValue)})|${toLoosePattern(other.beforeValue)}|(${toLoosePattern(withoutAttribute(text.beforeValue))}))$`,
  );

/** Returns the mark before a value without the attribute that tells strings, which models leave out. */
const withoutAttribute = (mark: string): string => mark.replace(/^"\s+\w+="[^"]*"(?=>)/, '"');

/** Whether a text can become the mark before a key. */
function canBecomeKeyStart(text: string, { beforeKey, separator }: TagsSyntax): boolean {
  const written = text.replaceAll(/\s/g, '');
  const [mark, between] = [beforeKey, separator].map((part) => part.replaceAll(/\s/g, '')) as [string, string];
  return mark.startsWith(written) || (between + mark).startsWith(written);
}
