import type { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { IGNORED_NAMES_MAX } from '../core/limits.ts';

/** A prescribed text (wire.md 1.7), with our limits filled in; it stands before the field and its value. */
export type RuleText = string | ((value: unknown) => string);

/** Field paths, with `[]` for any index, to the text that is said when something is wrong there. */
export type RuleTexts = Readonly<Record<string, RuleText>>;

export interface ParseOptions {
  /** A function is called only when something is wrong: for texts that are made for the model that was asked. */
  readonly texts?: RuleTexts | (() => RuleTexts);
}

/** wire.md 1.7, for a body that is no JSON object. */
const BODY_INVALID = 'Required body invalid, please check the request body format.';

/**
 * The value in the schema's form.
 *
 * @throws ServiceError `invalid-request` naming the first field at fault, its value (shortened; what may hold a prompt is
 *   only described) and the rule.
 */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { texts = {} }: ParseOptions = {},
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = firstProblem(parsed.error.issues);
  throw problem && problem.path.length > 0
    ? refusal(problem, value, typeof texts === 'function' ? texts() : texts)
    : new ServiceError('invalid-request', BODY_INVALID);
}

interface StrictOptions {
  /** Unknown fields are refused instead of listed. */
  readonly strict?: boolean;
  /** Names that the schema does not know and that are not refused. */
  readonly heard?: readonly string[];
}

/**
 * A JSON body, and the names of the fields the schema does not know, at any depth (`messages[].foo`). Names are compared
 * as own keys, so `__proto__` is one like any other.
 *
 */
export function parseBody<Schema extends z.ZodObject>(
  schema: Schema,
  body: unknown,
  { texts = {}, strict = false, heard = [] }: ParseOptions & StrictOptions = {},
): { readonly wire: z.output<Schema>; readonly unknown: readonly string[] } {
  if (!isPlainObject(body)) throw new ServiceError('invalid-request', BODY_INVALID);
  const wire = parse(schema, body, { texts });
  const names = new Set<string>();
  addUnknown(body, wire, '', names);
  const unknown = [...names];
  const refused = strict ? unknown.find((each) => !heard.includes(each)) : undefined;
  if (refused !== undefined)
    throw new ServiceError('invalid-request', `${refused} is not a field of this request.`, { param: refused });
  return { wire, unknown };
}

/**
 * What the schema let fall: what the body has and the parsed value has not. A null says that nothing was set, and a value
 * taken over whole is not looked into.
 */
function addUnknown(given: unknown, taken: unknown, path: string, names: Set<string>): void {
  if (given === taken || typeof given !== 'object' || given === null || typeof taken !== 'object' || taken === null)
    return;
  if (Array.isArray(given)) {
    if (Array.isArray(taken)) for (const [at, item] of given.entries()) addUnknown(item, taken[at], `${path}[]`, names);
    return;
  }
  for (const name of Object.keys(given)) {
    if (names.size > IGNORED_NAMES_MAX) return;
    const at = `${path}${path === '' ? '' : '.'}${shorten(name)}`;
    if (Object.hasOwn(taken, name)) addUnknown(Reflect.get(given, name), Reflect.get(taken, name), at, names);
    else if (Reflect.get(given, name) !== null) names.add(at);
  }
}

/** A refusal in the form of all others, for rules that are no schema's. */
export function refuse(param: string, rule: string, value?: unknown): ServiceError {
  const shown = value === undefined ? '' : `: ${show(value, param.split('.').at(-1) ?? '', isPrivate(param))}`;
  return new ServiceError('invalid-request', `${rule} (${param}${shown})`, { param });
}

interface Problem {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

/** Of a union that failed, the branch that got furthest: a wrong part in a list says more than "no string". */
function firstProblem(issues: readonly z.core.$ZodIssue[], before: readonly PropertyKey[] = []): Problem | undefined {
  const [issue] = issues;
  if (!issue) return undefined;
  const path = [...before, ...issue.path];
  if (issue.code !== 'invalid_union') return { issue, path };
  const inner = issue.errors
    .map((branch) => firstProblem(branch, path))
    .filter((problem) => problem !== undefined)
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  return inner && inner.path.length > path.length ? inner : { issue, path };
}

function refusal({ issue, path }: Problem, body: unknown, texts: RuleTexts): ServiceError {
  const param = spell(path);
  const value = valueAt(body, path);
  const pattern = spell(path, { anyIndex: true });
  const text = Object.hasOwn(texts, pattern) ? texts[pattern] : undefined;
  const last = path.at(-1);
  const shown = value === undefined ? 'missing' : show(value, String(last ?? ''), isPrivate(param));
  if (text !== undefined) {
    return new ServiceError(
      'invalid-request',
      `${typeof text === 'string' ? text : text(value)} (${param}: ${shown})`,
      { param },
    );
  }
  if (value === undefined || isUnset(param, value))
    return new ServiceError('invalid-request', missing(param), { param });
  return new ServiceError('invalid-request', `${param} ${ruleOf(issue)}, got ${shown}.`, { param });
}

/** Clients that have no model configured send null or an empty name. */
const isUnset = (param: string, value: unknown): boolean => param === 'model' && (value === null || value === '');

/** wire.md 1.7. */
export const missing = (param: string): string =>
  `Required parameter(${param}) missing or invalid, please check the request parameters.`;

function ruleOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `must ${sizeVerb(issue.origin)} ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must ${sizeVerb(issue.origin)} ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map((each) => JSON.stringify(each)).join(', ')}`;
    case 'invalid_union':
      return 'has none of the allowed forms';
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

const unitOf = (origin: string): string => (origin === 'array' ? ' items' : origin === 'string' ? ' characters' : '');

/** `messages[2].content`; with `anyIndex` `messages[].content`. */
function spell(path: readonly PropertyKey[], { anyIndex = false } = {}): string {
  let spelled = '';
  for (const key of path) {
    if (typeof key === 'number') spelled += anyIndex ? '[]' : `[${key}]`;
    else spelled += `${spelled === '' ? '' : '.'}${shorten(String(key))}`;
  }
  return spelled;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

/** Fields below which a caller's own text lives: it is described, never repeated. */
const PRIVATE_FIELDS = new Set(['messages', 'prompt', 'input', 'system', 'suffix', 'items', 'instructions', 'tools']);

/** Fields that are words of the protocol wherever they stand. */
const PUBLIC_NAMES = new Set(['role', 'type']);

const isPrivate = (param: string): boolean => PRIVATE_FIELDS.has(/^(?:parameters\.)?([^.[]*)/.exec(param)?.[1] ?? '');

function show(value: unknown, name: string, hidden: boolean): string {
  if (typeof value === 'string') {
    if (hidden && !PUBLIC_NAMES.has(name)) return `a string of ${value.length} characters`;
    return JSON.stringify(shorten(value));
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** What a caller sent, as messages tell it: shortened, and objects and lists without what is in them. */
export const shown = (value: unknown): string => show(value, '', false);

const SHOWN_CHARS_MAX = 40;

const shorten = (text: string): string => {
  const whole = text.toWellFormed();
  return whole.length > SHOWN_CHARS_MAX ? `${whole.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…` : whole;
};

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
