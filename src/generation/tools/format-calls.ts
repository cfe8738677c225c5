import type { ToolCall } from '../../core/message.ts';
import { isRecord } from '../../lib/is-record.ts';
import { ID_PLACE, KEY_PLACE, TYPE_PLACE, type ArgumentSyntax, type ToolFormat } from './tool-formats.ts';

/** Writes calls as a model with the format writes them. */
export function formatCalls(
  calls: readonly Pick<ToolCall, 'name' | 'arguments'>[],
  { begin, before, between, after, separator, end, arguments: syntax }: ToolFormat,
): string {
  const texts = calls.map((call, index) =>
    [before, call.name, between, formatArguments(call.arguments.trim() || '{}', syntax), after]
      .join('')
      .replaceAll(ID_PLACE, String(index)),
  );
  return begin + texts.join(separator) + end;
}

/** @param json Arguments as JSON text; a text that is no object stays as it is. */
function formatArguments(json: string, syntax: ArgumentSyntax | undefined): string {
  const values = syntax && syntax.type !== 'json' ? parseObject(json) : undefined;
  if (!values || !syntax || syntax.type === 'json') return json;
  const pairs = Object.entries(values).map(([key, value]) =>
    syntax.type === 'tags' ? formatTagged(key, value, syntax) : formatLiteral(key, value, syntax),
  );
  return pairs.join(syntax.separator);
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function formatTagged(key: string, value: unknown, syntax: Extract<ArgumentSyntax, { type: 'tags' }>): string {
  const { beforeValue, afterValue } = typeof value === 'string' ? syntax.text : syntax.other;
  const mark = beforeValue.replaceAll(TYPE_PLACE, () => getTypeName(value));
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return syntax.beforeKey + key + mark + text + afterValue.replaceAll(KEY_PLACE, key);
}

const getTypeName = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

function formatLiteral(
  key: string,
  value: unknown,
  { beforeKey, assign, quote }: Extract<ArgumentSyntax, { type: 'literals' }>,
): string {
  // Calls that assign with `=` are Python.
  return beforeKey + key + assign + toLiteral(value, quote, assign === '=' ? PYTHON_NAMES : {});
}

const PYTHON_NAMES: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

function toLiteral(value: unknown, quote: string, names: Readonly<Record<string, string>>): string {
  if (typeof value === 'string')
    return quote.length === 1 ? quote + escapeText(value, quote) + quote : quote + value + quote;
  if (Array.isArray(value)) return `[${value.map((item) => toLiteral(item, quote, names)).join(', ')}]`;
  if (isRecord(value)) {
    const isQuoted = quote.length === 1;
    const members = Object.entries(value).map(
      ([key, item]) => `${isQuoted ? toLiteral(key, quote, names) : key}: ${toLiteral(item, quote, names)}`,
    );
    return `{${members.join(', ')}}`;
  }
  const text = JSON.stringify(value) ?? 'null';
  return names[text] ?? text;
}

const escapeText = (text: string, quote: string): string =>
  quote === '"'
    ? JSON.stringify(text).slice(1, -1)
    : JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll(quote, `\\${quote}`);
