import { ServiceError } from '../../core/error.ts';
import type { Grammar, JsonSchema } from '../../core/grammar.ts';
import type { Tool } from '../../core/message.ts';
import { describeValue } from '../../grammar/schema-document.ts';
import { isRecord } from '../../lib/is-record.ts';
import { getProperty, getValueType } from './argument-value.ts';
import { KEY_PLACE, TYPE_PLACE, type ArgumentSyntax, type ToolFormat } from './tool-formats.ts';

/**
 * Creates the grammar of a tool's arguments in a format. In formats that are not JSON it includes the text after the
 * arguments: only that text ends them.
 *
 * @throws ServiceError `invalid-request` for arguments that cannot be an object.
 */
export function createArgumentsGrammar(tool: Tool, { arguments: syntax, after }: ToolFormat): Grammar {
  const schema = hasParameters(tool) ? toObjectSchema(tool.parameters, tool.field) : undefined;
  if (!syntax || syntax.type === 'json')
    return schema === undefined ? NO_ARGUMENTS : { type: 'schema', schema, field: tool.field };
  return {
    type: 'sequence',
    parts: [createPairsGrammar(listProperties(schema), syntax, tool), { type: 'text', text: after.trimEnd() }],
  };
}

/** Arguments of a tool that has no parameters. */
export const NO_ARGUMENTS: Grammar = { type: 'text', text: '{}' };

const hasParameters = (tool: Tool): tool is Tool & { readonly parameters: JsonSchema } =>
  tool.parameters !== undefined && (typeof tool.parameters !== 'object' || Object.keys(tool.parameters).length > 0);

/** Adds `type: object` to a schema of arguments that has no type; rejects one with another type. */
function toObjectSchema(schema: JsonSchema, field: string): JsonSchema {
  if (schema === true) return { type: 'object' };
  if (schema === false || schema.type === 'object') return schema;
  const { type } = schema;
  // The schema itself is extended, so that references into it stay valid.
  if (type === undefined || (Array.isArray(type) && type.includes('object'))) return { ...schema, type: 'object' };
  throw new ServiceError(
    'invalid-request',
    `type must be "object", because arguments are an object, got ${describeValue(type)} (${field}, at #).`,
    { param: field },
  );
}

interface Property {
  readonly key: string;
  readonly isRequired: boolean;
  /** The property's schema, with the definitions that it may refer to. */
  readonly schema: JsonSchema;
}

function listProperties(schema: JsonSchema | undefined): Property[] {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return [];
  const { properties, required, $defs, definitions } = schema;
  const shared = { ...(isRecord($defs) ? { $defs } : {}), ...(isRecord(definitions) ? { definitions } : {}) };
  return Object.entries(properties).map(([key, value]) => ({
    key,
    isRequired: Array.isArray(required) && required.includes(key),
    schema: isRecord(value) ? { ...shared, ...value } : value !== false,
  }));
}

type PairSyntax = Exclude<ArgumentSyntax, { type: 'json' }>;

/** Creates the grammar of all pairs: first those that are required, then the others, each in the schema's order. */
function createPairsGrammar(properties: readonly Property[], syntax: PairSyntax, tool: Tool): Grammar {
  const pairs = properties.map((property) => ({ ...property, grammar: createPairGrammar(property, syntax, tool) }));
  const required = pairs.filter(({ isRequired }) => isRequired).map(({ grammar }) => grammar);
  const optional = pairs.filter(({ isRequired }) => !isRequired).map(({ grammar }) => grammar);
  const separate = (grammar: Grammar): Grammar => toSequence([toText(syntax.separator), grammar]);
  const addOptional = (from: number): Grammar[] =>
    optional.slice(from).map((grammar) => toChoice([EMPTY, separate(grammar)]));
  const [first, ...rest] = required;
  if (first) return toSequence([first, ...rest.map(separate), ...addOptional(0)]);
  return toChoice([EMPTY, ...optional.map((grammar, i) => toSequence([grammar, ...addOptional(i + 1)]))]);
}

function createPairGrammar({ key, schema }: Property, syntax: PairSyntax, { parameters, field }: Tool): Grammar {
  const isText = getValueType(getProperty(parameters, key), parameters) === 'text';
  const json: Grammar = { type: 'schema', schema, field };
  if (syntax.type === 'literals')
    return toSequence([
      toText(syntax.beforeKey + key + syntax.assign),
      isText ? createQuotedGrammar(schema, syntax.quote) : json,
    ]);
  const { beforeValue, afterValue } = isText ? syntax.text : syntax.other;
  const end = afterValue.replaceAll(KEY_PLACE, key);
  const text = listTexts(schema) ?? ({ type: 'without-text', text: end.trim() } as const);
  return toSequence([...createMarkGrammars(syntax.beforeKey + key + beforeValue), isText ? text : json, toText(end)]);
}

/** Names of the types of values that are not strings. */
const TYPE_NAMES = ['number', 'boolean', 'object', 'array', 'null'];

/** Returns the grammars of the mark before a value, which may name the type of the value. */
const createMarkGrammars = (mark: string): Grammar[] =>
  mark.split(TYPE_PLACE).flatMap((part, i) => [...(i === 0 ? [] : [toChoice(TYPE_NAMES.map(toText))]), toText(part)]);

function createQuotedGrammar(schema: JsonSchema, quote: string): Grammar {
  const text: Grammar =
    listTexts(schema) ??
    (quote.length > 1
      ? { type: 'without-text', text: quote }
      : toChoice([EMPTY, { type: 'without', characters: `${quote}\\\n` }]));
  return toSequence([toText(quote), text, toText(quote)]);
}

/** Returns the choice of an enumeration's texts; undefined for a schema without one. */
function listTexts(schema: JsonSchema): Grammar | undefined {
  if (!isRecord(schema)) return undefined;
  const values = schema['const'] === undefined ? schema['enum'] : [schema['const']];
  return Array.isArray(values) ? toChoice(values.map((value) => toText(String(value)))) : undefined;
}

const toText = (text: string): Grammar => ({ type: 'text', text });
const toSequence = (parts: readonly Grammar[]): Grammar => ({ type: 'sequence', parts });
const toChoice = (options: readonly Grammar[]): Grammar => ({ type: 'choice', options });
const EMPTY = toText('');
