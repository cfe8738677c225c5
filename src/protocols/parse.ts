import type { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { IGNORED_NAMES_MAX } from './limits.ts';
import { getValueAt } from '../lib/get-value-at.ts';
import { isRecord } from '../lib/is-record.ts';

/**
 * Error text for a field, in some cases prescribed (docs/wire/openai-compatible.md#errors). The field and its value
 * follow in parentheses.
 */
export type RuleText = string | ((value: unknown) => string);

/** Error texts by field path, with `[]` for any array index. */
export type RuleTexts = Readonly<Record<string, RuleText>>;

export interface ParseOptions {
  /**
   * Error texts; a function is called only on an error, which saves building the texts of a model for valid requests.
   */
  readonly texts?: RuleTexts | (() => RuleTexts);
}

/** Prescribed text for a body that is not a JSON object (docs/wire/openai-compatible.md#errors). */
const BODY_INVALID = 'Required body invalid, please check the request body format.';

/**
 * Validates a value and returns it in the schema's output type.
 *
 * @throws ServiceError `invalid-request` naming the first invalid field, the rule and the value. Long values are
 * shortened, and values that may contain prompt text are only described.
 */
export function parseValue<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { texts = {} }: ParseOptions = {},
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = findFirstProblem(parsed.error.issues);
  throw problem && problem.path.length > 0
    ? problemToError(problem, value, typeof texts === 'function' ? texts() : texts)
    : new ServiceError('invalid-request', BODY_INVALID);
}

interface StrictOptions {
  /** Rejects unknown fields instead of returning their names. */
  readonly strict?: boolean;
  /** Unknown fields that are accepted even in strict mode. */
  readonly allowedExtraFields?: readonly string[];
}

/**
 * Validates a JSON body. `unknown` holds the paths of the fields that the schema does not know, at any depth
 * (`messages[].foo`). Names are compared as own keys, so `__proto__` is handled like any other.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function parseBody<Schema extends z.ZodObject>(
  schema: Schema,
  body: unknown,
  { texts = {}, strict = false, allowedExtraFields = [] }: ParseOptions & StrictOptions = {},
): { readonly wire: z.output<Schema>; readonly unknown: readonly string[] } {
  if (!isRecord(body)) throw new ServiceError('invalid-request', BODY_INVALID);
  const wire = parseValue(schema, body, { texts });
  const names = new Set<string>();
  collectUnknownNames(body, wire, createPathNode(''), names);
  const unknown = [...names];
  const refused = strict ? unknown.find((each) => !allowedExtraFields.includes(each)) : undefined;
  if (refused !== undefined)
    throw new ServiceError('invalid-request', `${refused} is not a field of this request.`, { param: refused });
  return { wire, unknown };
}

/** Stands for the items of an array. */
const ITEMS = Symbol('items');

/** A path and those below it, so that the text of a path is built once and not for each item of an array. */
interface PathNode {
  readonly path: string;
  readonly children: Map<string | typeof ITEMS, PathNode>;
}

const createPathNode = (path: string): PathNode => ({ path, children: new Map() });

function getChild({ path, children }: PathNode, name: string | typeof ITEMS): PathNode {
  const known = children.get(name);
  if (known) return known;
  const child = createPathNode(name === ITEMS ? `${path}[]` : `${path}${path === '' ? '' : '.'}${truncateText(name)}`);
  children.set(name, child);
  return child;
}

/**
 * Adds the paths of fields that the parsed value lacks. Skips null, which means "not set", and values that the schema
 * returned unchanged.
 */
function collectUnknownNames(given: unknown, parsed: unknown, at: PathNode, names: Set<string>): void {
  if (given === parsed || typeof given !== 'object' || given === null || typeof parsed !== 'object' || parsed === null)
    return;
  if (Array.isArray(given)) {
    if (!Array.isArray(parsed)) return;
    const items = getChild(at, ITEMS);
    for (let index = 0; index < given.length && names.size <= IGNORED_NAMES_MAX; index++)
      collectUnknownNames(given[index], parsed[index], items, names);
    return;
  }
  for (const [name, value] of Object.entries(given)) {
    if (names.size > IGNORED_NAMES_MAX) return;
    if (value === null) continue;
    if (!Object.hasOwn(parsed, name)) names.add(getChild(at, name).path);
    else if (typeof value === 'object')
      collectUnknownNames(value, Reflect.get(parsed, name), getChild(at, name), names);
  }
}

/** Creates the error for a rule that no schema expresses: the rule, then the field and its value in parentheses. */
export function createFieldError(param: string, rule: string, value?: unknown): ServiceError {
  const shown = value === undefined ? '' : `: ${formatValue(value, param.split('.').at(-1) ?? '', isPrivate(param))}`;
  return new ServiceError('invalid-request', `${rule} (${param}${shown})`, { param });
}

interface Problem {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

/**
 * Returns the issue to report. For a failed union, that is the issue of the branch with the longest path: an invalid
 * part in a list says more than "must be a string".
 */
function findFirstProblem(
  issues: readonly z.core.$ZodIssue[],
  before: readonly PropertyKey[] = [],
): Problem | undefined {
  const [issue] = issues;
  if (!issue) return undefined;
  const path = [...before, ...issue.path];
  if (issue.code !== 'invalid_union') return { issue, path };
  const inner = issue.errors
    .map((branch) => findFirstProblem(branch, path))
    .filter((problem) => problem !== undefined)
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  return inner && inner.path.length > path.length ? inner : { issue, path };
}

function problemToError({ issue, path }: Problem, body: unknown, texts: RuleTexts): ServiceError {
  const param = formatPath(path);
  const value = getValueAt(body, path);
  const pattern = formatPath(path, { anyIndex: true });
  const text = Object.hasOwn(texts, pattern) ? texts[pattern] : undefined;
  const last = path.at(-1);
  const shown = value === undefined ? 'missing' : formatValue(value, String(last ?? ''), isPrivate(param));
  if (text !== undefined) {
    return new ServiceError(
      'invalid-request',
      `${typeof text === 'string' ? text : text(value)} (${param}: ${shown})`,
      { param },
    );
  }
  if (value === undefined || isUnset(param, value)) return createMissingParameterError(param);
  return new ServiceError('invalid-request', `${param} ${describeRule(issue)}, got ${shown}.`, { param });
}

/** Clients without a configured model send null or an empty name. */
const isUnset = (param: string, value: unknown): boolean => param === 'model' && (value === null || value === '');

/** Creates the error of a missing parameter, with the prescribed text (docs/wire/openai-compatible.md#errors). */
export const createMissingParameterError = (param: string): ServiceError =>
  new ServiceError(
    'invalid-request',
    `Required parameter(${param}) missing or invalid, please check the request parameters.`,
    { param },
  );

function describeRule(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must ${sizeVerb(issue.origin)} ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${sizeUnit(issue.origin)}`;
    case 'too_big':
      return `must ${sizeVerb(issue.origin)} ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${sizeUnit(issue.origin)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map((each) => JSON.stringify(each)).join(', ')}`;
    case 'invalid_union':
      return describeForms(issue);
    case 'custom':
      return issue.message;
    case 'invalid_format':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
      return 'is not valid';
  }
}

/** Describes what a failed union accepts: the values of its discriminator, or the rule of each branch. */
function describeForms(issue: z.core.$ZodIssueInvalidUnion): string {
  if ('options' in issue && issue.options)
    return `must be one of ${issue.options.map((each) => JSON.stringify(each)).join(', ')}`;
  const rules = new Set(
    issue.errors.flatMap(([first]) => (first && first.path.length === 0 ? [describeRule(first)] : [])),
  );
  if (rules.size === 0) return 'is not valid';
  return [...rules].map((rule, index) => (index === 0 ? rule : rule.replace(/^must be /, ''))).join(' or ');
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

const sizeVerb = (origin: string): string => (origin === 'array' || origin === 'string' ? 'have' : 'be');

const sizeUnit = (origin: string): string => (origin === 'array' ? ' items' : origin === 'string' ? ' characters' : '');

/** Formats a path as `messages[2].content`, or with `anyIndex` as `messages[].content`. */
function formatPath(path: readonly PropertyKey[], { anyIndex = false } = {}): string {
  let formatted = '';
  for (const key of path) {
    if (typeof key === 'number') formatted += anyIndex ? '[]' : `[${key}]`;
    else formatted += `${formatted === '' ? '' : '.'}${truncateText(String(key))}`;
  }
  return formatted;
}

/** Fields that contain the caller's text: error messages describe their values and never repeat them. */
const PRIVATE_FIELDS = new Set(['messages', 'prompt', 'input', 'system', 'suffix', 'items', 'instructions', 'tools']);

/** Field names whose values are protocol keywords everywhere. */
const PUBLIC_NAMES = new Set(['role', 'type']);

const isPrivate = (param: string): boolean => PRIVATE_FIELDS.has(/^(?:parameters\.)?([^.[]*)/.exec(param)?.[1] ?? '');

function formatValue(value: unknown, name: string, isHidden: boolean): string {
  if (typeof value === 'string') {
    if (isHidden && !PUBLIC_NAMES.has(name)) return `a string of ${value.length} characters`;
    return JSON.stringify(truncateText(value));
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** Formats a value of a request for an error message: strings shortened, objects and arrays without their content. */
export const describeValue = (value: unknown): string => formatValue(value, '', false);

const SHOWN_CHARS_MAX = 40;

const truncateText = (text: string): string => {
  const whole = text.toWellFormed();
  return whole.length > SHOWN_CHARS_MAX ? `${whole.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…` : whole;
};
