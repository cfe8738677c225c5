import { isDeepStrictEqual } from 'node:util';
import type { ChoiceEvent } from '../../core/event.ts';
import { listThoughtTexts, type ThoughtFormat } from '../thoughts/thought-format.ts';
import { splitEndToken } from './end-tokens.ts';
import { listMarks, splitClosings } from './list-marks.ts';
import { findFrame, splitEnclosure } from './split-enclosure.ts';
import { createCallCompiler, type CompileCalls } from './call-program.ts';
import { createToolCallStage } from './tool-call-stage.ts';
import { ID_PLACE, KEY_PLACE, TYPE_PLACE, type ArgumentSyntax, type ToolFormat } from './tool-formats.ts';

/** Renders messages with a template. @throws Error where the template cannot. */
export type RenderMessages = (variables: Readonly<Record<string, unknown>>) => string;

/** Forms of a message of which a template may accept only some. */
export interface MessageForm {
  readonly argumentsAsText: boolean;
  readonly emptyAsNull: boolean;
  /** The template writes no name of a call, only its id, which is `functions.NAME:INDEX`. */
  readonly idNamesTool: boolean;
}

export interface DerivedFormat {
  readonly format: ToolFormat;
  readonly form: MessageForm;
}

export interface DeriveFormatOptions {
  readonly specialTokens: readonly string[];
  /** Text of the model's end token. */
  readonly eosToken: string;
  /** Format of thoughts. They are parsed before calls, and so are no part of their format. */
  readonly thoughts: ThoughtFormat;
}

/**
 * Derives the format in which a template writes calls, by rendering conversations that differ in one thing. What stands
 * between two calls, before the first and after the last shows what encloses each call, what separates them and what
 * encloses all; the same comparison of two arguments shows how these are written.
 *
 * @returns undefined for a template that writes no calls, or whose format the comparison does not show.
 */
export function deriveToolFormat(render: RenderMessages, options: DeriveFormatOptions): DerivedFormat | undefined {
  for (const form of MESSAGE_FORMS) {
    let turnEnd = '';
    const renderCalls = createProbe(render, form, options.thoughts, (text) => {
      turnEnd = text;
    });
    const found = deriveInForm(renderCalls, options);
    // A server may pass on the token that ends the turn, and the model writes what precedes it.
    const format = found && { ...found, closings: [...found.closings, ...splitClosings(turnEnd)] };
    if (format && parsesBack(format, renderCalls)) return { format, form };
  }
  return undefined;
}

/** Returns the form of messages in which the template writes calls in the format; undefined if it writes them otherwise. */
export const findForm = (
  render: RenderMessages,
  format: ToolFormat,
  thoughts: ThoughtFormat,
): MessageForm | undefined =>
  MESSAGE_FORMS.find((form) =>
    parsesBack(
      format,
      createProbe(render, form, thoughts, () => undefined),
    ),
  );

/** Whether the template describes tools to the model. A template that fails only when there are tools does not. */
export function showsTools(render: RenderMessages): boolean {
  const tryRender = (tools: object): string | undefined => {
    try {
      return render({ messages: [USER], ...tools, add_generation_prompt: true });
    } catch {
      return undefined;
    }
  };
  const text = tryRender({ tools: TOOLS });
  return text === undefined ? tryRender({}) === undefined : text.includes(FIRST.name);
}

const MESSAGE_FORMS: readonly MessageForm[] = [false, true].flatMap((idNamesTool) =>
  [false, true].flatMap((argumentsAsText) =>
    [false, true].map((emptyAsNull) => ({ idNamesTool, argumentsAsText, emptyAsNull })),
  ),
);

interface ProbeCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const NUMBER = 73_519;
const FIRST: ProbeCall = { id: 'idaaaaaa1', name: 'fn_first', arguments: { key_one: 'value_one' } };
const SECOND: ProbeCall = { id: 'idbbbbbb2', name: 'other_fn', arguments: { key_two: 'value_two' } };
const ANSWER = '§answer§';
const USER = { role: 'user', content: 'question' };
const TOOLS = [FIRST, SECOND].map(({ name }) => ({
  type: 'function',
  function: {
    name,
    description: name,
    parameters: {
      type: 'object',
      properties: { key_one: { type: 'string', description: 'one' }, key_two: { type: 'string', description: 'two' } },
      required: [],
    },
  },
}));

/** Renders an answer with calls and returns its text. @returns undefined where the template fails. */
type RenderCalls = (calls: readonly ProbeCall[]) => string | undefined;

/** @param onTurnEnd Called with the text after calls that ends the turn. */
function createProbe(
  render: RenderMessages,
  form: MessageForm,
  thoughts: ThoughtFormat,
  onTurnEnd: (text: string) => void,
): RenderCalls {
  const renderTurn = (message: Readonly<Record<string, unknown>>): string | undefined => {
    const messages = [USER, { role: 'assistant', ...message }];
    for (const tools of [{ tools: TOOLS }, {}])
      try {
        return render({ messages, ...tools, add_generation_prompt: false });
      } catch {
        // A template may write calls, but fail where it describes tools.
      }
    return undefined;
  };
  const [head, tail, ...more] = renderTurn({ content: ANSWER })?.split(ANSWER) ?? [];
  return (calls) => {
    if (head === undefined || tail === undefined || more.length > 0) return undefined;
    const text = renderTurn({ content: form.emptyAsNull ? null : '', tool_calls: calls.map(toTemplateCall, form) });
    if (text === undefined) return undefined;
    const frame = findFrame(hideIds(text, calls), { head, tail });
    onTurnEnd(frame.tail);
    return removeThought(hideIds(text, calls).slice(frame.head.length, -frame.tail.length || undefined), thoughts);
  };
}

/** Removes an empty thought and the mark that ends the answer's text before calls. */
function removeThought(text: string, thoughts: ThoughtFormat): string {
  const { open, close, answerClose } = thoughts;
  const marks = [open, close, answerClose].filter((mark) => mark !== '');
  const mark = marks.find((one) => text.trimStart().startsWith(one));
  return mark === undefined ? text : removeThought(text.trimStart().slice(mark.length), thoughts);
}

function toTemplateCall(this: MessageForm, { id, name, arguments: values }: ProbeCall, index: number) {
  return {
    id: this.idNamesTool ? `functions.${name}:${index}` : id,
    type: 'function',
    function: { name, arguments: this.argumentsAsText ? JSON.stringify(values) : values },
  };
}

/** Replaces ids, so that the texts of two calls differ only in what else they contain. Some templates number calls. */
const hideIds = (text: string, calls: readonly ProbeCall[]): string =>
  calls.reduce(
    (rest, { id, name }, index) =>
      rest
        .replaceAll(id, ID_PLACE)
        .replaceAll(`${name}:${index}`, `${name}:${ID_PLACE}`)
        .replaceAll(
          new RegExp(`(\\b(?:index|tool_call_id)"?[=:] ?")(?:${index}|${index + 1})"`, 'g'),
          `$1${ID_PLACE}"`,
        ),
    text,
  );

function deriveInForm(
  renderCalls: RenderCalls,
  { specialTokens, eosToken, thoughts }: DeriveFormatOptions,
): ToolFormat | undefined {
  const one = renderCalls([FIRST]);
  const name = one?.indexOf(FIRST.name) ?? -1;
  if (one === undefined || name < 0) return undefined;
  const afterName = one.slice(name + FIRST.name.length);
  const written = deriveArguments(afterName, (values) => {
    const text = renderCalls([{ ...FIRST, arguments: values }]);
    return text?.slice(text.indexOf(FIRST.name) + FIRST.name.length);
  });
  if (!written) return undefined;
  const { between, syntax, length } = written;
  const two = renderCalls([FIRST, SECOND]);
  const firstEnd = name + FIRST.name.length + length;
  const second = two?.indexOf(SECOND.name, firstEnd) ?? -1;
  const parts = splitEnclosure({
    first: one.slice(0, name),
    between: two === undefined || second < 0 ? undefined : two.slice(firstEnd, second),
    last: one.slice(firstEnd),
  });
  // The call follows the question, or the end of the prompt, without a mark of its own.
  if (parts.begin.includes(USER.content) || (parts.begin + parts.before).trim() === '') return undefined;
  const { format, endToken } = splitEndToken({ ...parts, between, arguments: syntax }, eosToken);
  const { closings, ...marks } = listMarks(format, { specialTokens, otherTexts: listThoughtTexts(thoughts) });
  // Some servers output the token.
  return { ...format, ...marks, closings: endToken === undefined ? closings : [...closings, endToken] };
}

/** Values that a format must not confuse: text that looks like another value, and values that are not text. */
const VALUES = { key_one: 'a <b> "c" 12', key_two: '7', count: 3, flag: true, list: ['x', 1], object: { inner: 'y' } };
const VALUES_SCHEMA = {
  type: 'object',
  properties: {
    key_one: { type: 'string' },
    key_two: { type: 'string' },
    count: { type: 'integer' },
    flag: { type: 'boolean' },
    list: { type: 'array' },
    object: { type: 'object' },
  },
};

/** Whether calls in the format are parsed to what was rendered: one, several, and with all types of values. */
function parsesBack(format: ToolFormat, renderCalls: RenderCalls): boolean {
  const compileCalls = createCallCompiler();
  const several = renderCalls([FIRST, SECOND])?.includes(SECOND.name) ? [[FIRST, SECOND]] : [];
  return [[FIRST], [{ ...SECOND, arguments: VALUES }], ...several].every((calls) => {
    const text = renderCalls(calls)?.replaceAll(ID_PLACE, '0');
    return (
      text !== undefined &&
      isDeepStrictEqual(
        parseCalls(text, format, compileCalls),
        calls.map(({ name, arguments: values }) => ({ name, values })),
      )
    );
  });
}

function parseCalls(
  text: string,
  format: ToolFormat,
  compileCalls: CompileCalls,
): { name: string; values: unknown }[] | undefined {
  const calls: { name: string; json: string }[] = [];
  let hasText = false;
  const stage = createToolCallStage({
    choice: 0,
    format,
    tools: [FIRST, SECOND].map(({ name }) => ({ name, parameters: VALUES_SCHEMA })),
    isParallel: true,
    preface: '',
    createId: () => '',
    compileCalls,
  });
  const emit = (event: ChoiceEvent): void => {
    if (event.type === 'tool-call') calls.push({ name: event.name, json: '' });
    const call = calls.at(-1);
    if (event.type === 'tool-arguments' && call) call.json += event.text;
    if (event.type === 'text') hasText ||= event.text.trim() !== '';
  };
  stage.push({ type: 'text', choice: 0, phase: 0, tokens: 1, text }, emit);
  stage.push({ type: 'choice-end', choice: 0, reason: 'stop' }, emit);
  try {
    return hasText ? undefined : calls.map(({ name, json }) => ({ name, values: JSON.parse(json) as unknown }));
  } catch {
    return undefined;
  }
}

interface WrittenArguments {
  /** Text between name and arguments. */
  readonly between: string;
  readonly syntax: ArgumentSyntax;
  /** Characters from the end of the name to the end of the arguments. */
  readonly length: number;
}

/** @param text What follows the name of a call with one argument. @param render Returns it for other arguments. */
function deriveArguments(
  text: string,
  render: (values: ProbeCall['arguments']) => string | undefined,
): WrittenArguments | undefined {
  const json = /\{\s*"key_one"\s*:\s*"value_one"\s*\}/.exec(text);
  if (json)
    return { between: text.slice(0, json.index), syntax: { type: 'json' }, length: json.index + json[0].length };
  const one = splitArgument(text, 'key_one', 'value_one');
  const number = splitArgument(render({ key_one: NUMBER }) ?? '', 'key_one', String(NUMBER));
  const two = splitArgument(render({ ...FIRST.arguments, ...SECOND.arguments }) ?? '', 'value_one', 'key_two');
  if (!one || !number || !two) return undefined;
  const { begin, before, after, separator, end } = splitEnclosure({
    first: one.before,
    between: two.middle,
    last: one.after,
  });
  const length = text.length - end.length;
  const numberAfter = number.after.slice(0, number.after.length - end.length);
  const marks = { beforeKey: before, separator };
  const hasCdata = render({ key_one: CDATA_VALUE })?.includes(`<![CDATA[${CDATA_VALUE}]]>`) ?? false;
  const quote = one.middle.startsWith(number.middle) ? one.middle.slice(number.middle.length) : '';
  const assign = number.middle.trim();
  if (quote !== '' && after.startsWith(quote) && /^[=:]$/.test(assign))
    return { between: begin, length, syntax: { type: 'literals', ...marks, assign, quote } };
  return {
    between: begin,
    length,
    syntax: {
      type: 'tags',
      ...marks,
      text: { beforeValue: one.middle, afterValue: after },
      other: { beforeValue: hideType(number.middle, one.middle), afterValue: numberAfter },
      ...(hasCdata ? { hasCdata } : {}),
    },
  };
}

/** A text that some templates enclose. */
const CDATA_VALUE = 'a < b';

/** Replaces the name of a number's type in a mark that names the type of a string as well. */
function hideType(mark: string, textMark: string): string {
  const typed = /\b(?:number|integer|int)\b/.exec(mark)?.[0];
  return typed !== undefined && textMark === mark.replace(typed, 'string') ? mark.replace(typed, TYPE_PLACE) : mark;
}

const FIRST_KEY = 'key_one';

function splitArgument(text: string, key: string, value: string) {
  const at = text.indexOf(key);
  const valueAt = text.indexOf(value, at + key.length);
  if (at < 0 || valueAt < 0) return undefined;
  // A mark after the value may contain the key.
  const hideKey = (part: string): string => part.replaceAll(FIRST_KEY, KEY_PLACE);
  return {
    before: text.slice(0, at),
    middle: hideKey(text.slice(at + key.length, valueAt)),
    after: hideKey(text.slice(valueAt + value.length)),
  };
}
