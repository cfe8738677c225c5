import type { JsonSchema } from '../../core/grammar.ts';
import { createArgumentWriter, createWritingBody, escapeJson } from './argument-writer.ts';
import { getValueType, toJsonValue, type ValueType } from './argument-value.ts';
import type { CallBody } from './call-body.ts';
import { KEY_PLACE, type ArgumentSyntax, type ValueMarks } from './tool-formats.ts';

type TagsSyntax = Extract<ArgumentSyntax, { type: 'tags' }>;

/** Characters of a key, or of blanks, with marks. More end the call: the text is no argument. */
const KEY_CHARACTERS_MAX = 256;

/**
 * Creates a parser of arguments between marks. The number of blanks between marks may differ. A string is written while it
 * arrives, except for characters that can be the start of the mark after it; another value when it is complete.
 */
export function createTagsBody(syntax: TagsSyntax, parameters: JsonSchema | undefined): CallBody {
  const writer = createArgumentWriter();
  const keyStart = createStartPattern(syntax);
  const keyEnd = createKeyPattern(syntax);
  const keyEndCharacters = [syntax.text, syntax.other].map(({ beforeValue }) => beforeValue.trim().slice(-1));
  const marksStrings = syntax.text.beforeValue !== syntax.other.beforeValue;
  let state: 'between' | 'key' | 'value' | 'ended' = 'between';
  let seen = '';
  let value = createValue(syntax.other, 'value');

  const takeBetween = (): 'more' | 'done-before' => {
    const match = keyStart.exec(seen);
    if (match) {
      seen = '';
      body.extraCharacters = 0;
      state = 'key';
      return 'more';
    }
    if (seen.length <= KEY_CHARACTERS_MAX && canBecomeKeyStart(seen, syntax)) {
      body.extraCharacters = seen.length;
      return 'more';
    }
    // The last character was not taken.
    body.extraCharacters = seen.length - 1;
    end();
    return 'done-before';
  };
  const takeKey = (): 'more' | 'done-before' => {
    const match = keyEndCharacters.includes(seen.slice(-1)) ? keyEnd.exec(seen) : null;
    if (!match) return seen.length > KEY_CHARACTERS_MAX ? 'done-before' : 'more';
    const [, key = '', textMark] = match;
    const isTextMark = textMark !== undefined && marksStrings;
    writer.startKey(key);
    value = createValue(
      withKey(textMark === undefined ? syntax.other : syntax.text, key),
      isTextMark ? 'text' : marksStrings ? 'value' : getValueType(parameters, key),
    );
    seen = '';
    state = 'value';
    return 'more';
  };
  const end = (): void => {
    if (state === 'ended') return;
    if (state === 'value') writer.write(value.finish());
    state = 'ended';
    body.hasAllArguments = true;
    writer.end();
  };

  const body = createWritingBody(writer, {
    take(code) {
      const character = String.fromCharCode(code);
      if (state === 'value') {
        if (value.take(character)) {
          writer.write(value.finish());
          state = 'between';
        } else writer.write(value.takeCertain());
        return 'more';
      }
      seen += character;
      return state === 'between' ? takeBetween() : takeKey();
    },
    end,
  });
  return body;
}

/** Value of one argument, from after the mark before it. */
interface Value {
  /** @returns whether the value ended. */
  take(character: string): boolean;
  /** Takes JSON text that is certain. */
  takeCertain(): string;
  /** Takes the rest of the JSON text. */
  finish(): string;
}

function createValue({ beforeValue, afterValue }: ValueMarks, type: ValueType): Value {
  const mark = afterValue.trim();
  /** Blanks that the format has around a value do not belong to it. */
  const blankBefore = beforeValue.slice(beforeValue.trimEnd().length);
  const blankAfter = afterValue.slice(0, afterValue.length - afterValue.trimStart().length);
  const heldMax = mark.length + blankAfter.length;
  /** The end of the value, which may be the start of the mark. */
  let held = '';
  let isStart = true;
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
  return {
    take(character) {
      held += character;
      skipBlankBefore();
      if (held.endsWith(mark)) {
        held = held.slice(0, -mark.length);
        return true;
      }
      if (held.length > heldMax) {
        release(held.slice(0, -heldMax));
        held = held.slice(-heldMax);
      }
      return false;
    },
    takeCertain() {
      const certain = json;
      json = '';
      return certain;
    },
    finish() {
      release(blankAfter !== '' && held.endsWith(blankAfter) ? held.slice(0, -blankAfter.length) : held);
      return type === 'text' ? `${json}"` : toJsonValue(parts.join(''));
    },
  };
}

const withKey = ({ beforeValue, afterValue }: ValueMarks, key: string): ValueMarks => ({
  beforeValue,
  afterValue: afterValue.replaceAll(KEY_PLACE, key),
});

/** Matches a mark with any number of blanks where it has some. */
const toLoosePattern = (mark: string): string =>
  mark
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => RegExp.escape(word))
    .join('\\s*');

const createStartPattern = ({ beforeKey, separator }: TagsSyntax): RegExp =>
  new RegExp(`^\\s*(?:${toLoosePattern(separator)})?\\s*${toLoosePattern(beforeKey)}$`);

const createKeyPattern = ({ text, other }: TagsSyntax): RegExp =>
  new RegExp(`^([^]*?)\\s*(?:(${toLoosePattern(text.beforeValue)})|${toLoosePattern(other.beforeValue)})$`);

/** Whether a text can become the mark before a key. */
function canBecomeKeyStart(text: string, { beforeKey, separator }: TagsSyntax): boolean {
  const written = text.replaceAll(/\s/g, '');
  const [mark, between] = [beforeKey, separator].map((part) => part.replaceAll(/\s/g, '')) as [string, string];
  return mark.startsWith(written) || (between + mark).startsWith(written);
}
