import { randomBytes } from 'node:crypto';
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { ServiceError } from '../core/error.ts';
import type { PromptSegment } from '../core/prompt.ts';
import { isRecord } from '../lib/is-record.ts';
import { strftime } from './strftime.ts';

/** Interpreter steps for one rendering. Parley's limit: a conversation of 10,000 messages takes about 400,000. */
const STEPS_MAX = 1_000_000;

/**
 * Characters of a string, and elements of an array, whose use costs one more step: copying and searching them takes about
 * as long as a step. Each 8 elements of an array that an expression creates cost a step: sorting takes that long.
 */
const SIZE_PER_STEP = 2_000;
const CREATED_ELEMENTS_PER_STEP = 8;

/** Characters of any string value during a rendering. Parley's limit. */
const VALUE_CHARS_MAX = 64 * 1024 * 1024;

/** Elements of a `range`. Parley's limit. */
const RANGE_MAX = 100_000;

/**
 * A chat template from a model file. The interpreter limits its steps and gives it no access to the host.
 *
 * Text from callers may read like a special token but must stay text. Before rendering, a random separator is inserted
 * into each such text. After rendering, whatever still reads like a special token comes from the template, and the
 * separators are removed.
 */
export interface ChatTemplate {
  /**
   * @param variables Values that the template can read; every string in them comes from a caller.
   * @throws ServiceError `invalid-request` with the template's message when the template calls `raise_exception`.
   */
  render(variables: Readonly<Record<string, unknown>>): PromptSegment[];
}

export interface ChatTemplateOptions {
  readonly source: string;
  /** Texts of the vocabulary's special tokens. */
  readonly specialTokens: readonly string[];
  readonly bosToken: string;
  readonly eosToken: string;
}

export function createChatTemplate({ source, specialTokens, bosToken, eosToken }: ChatTemplateOptions): ChatTemplate {
  const program = parseTemplate(source);
  const globals = createGlobals({ bosToken, eosToken });
  const special = createSpecialTokenSearch(specialTokens);
  // Random and never shown, so no caller can write it.
  const separator = `\uFDD0${randomBytes(8).toString('hex')}\uFDD1`;
  return {
    render(variables) {
      // Most conversations contain no text like a special token and need no copy.
      if (!containsSpecialToken(variables, special))
        return toSegments(runTemplate(program, globals, variables), special.pattern);
      const text = runTemplate(
        program,
        globals,
        breakSpecialTokens(variables, special.pattern, separator) as typeof variables,
      );
      return toSegments(text, special.pattern)
        .map((segment) => (segment.special ? segment : { ...segment, text: segment.text.replaceAll(separator, '') }))
        .filter(({ text: clean }) => clean !== '');
    },
  };
}

/** @throws ServiceError `engine-failed` for a template with a wrong syntax, or one that is nested too deeply. */
function parseTemplate(source: string): ReturnType<typeof parse> {
  try {
    return parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  } catch (error) {
    throw new ServiceError('engine-failed', "The model's chat template cannot be parsed.", { cause: error });
  }
}

/** Creates the values that every template can use besides its variables. A rendering leaves nothing in them. */
function createGlobals({ bosToken, eosToken }: Pick<ChatTemplateOptions, 'bosToken' | 'eosToken'>): Scope {
  const globals = new GlobalScope();
  const values = {
    none: null,
    None: null,
    true: true,
    false: false,
    True: true,
    False: false,
    bos_token: bosToken,
    eos_token: eosToken,
    range: boundedRange,
    raise_exception(message: unknown) {
      throw new ServiceError(
        'invalid-request',
        `The model's chat template rejects these messages: ${String(message)}`,
        {
          param: 'messages',
        },
      );
    },
    strftime_now: (format: unknown) => strftime(new Date(), String(format)),
  };
  for (const [name, value] of Object.entries(values)) globals.set(name, value);
  return globals;
}

function runTemplate(
  program: ReturnType<typeof parse>,
  globals: Scope,
  variables: Readonly<Record<string, unknown>>,
): string {
  const scope = new TemplateEnvironment(globals);
  for (const [name, value] of Object.entries(variables)) scope.set(name, value);
  let value: unknown;
  try {
    value = new BoundedInterpreter(scope).run(program).value;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (error instanceof TemplateLimitError)
      throw new ServiceError(
        'invalid-request',
        `The model's chat template cannot render these messages within its limits: ${error.message}.`,
        {
          param: 'messages',
          cause: error,
        },
      );
    throw new ServiceError('engine-failed', "The model's chat template cannot render these messages.", {
      cause: error,
    });
  }
  return String(value);
}

/** Thrown when a rendering exceeds Parley's limits. */
class TemplateLimitError extends RangeError {}

/** The parts of the library's classes that are used here: their types are lost under Node's module resolution. */
type InterpreterClass = new (scope: unknown) => {
  run(program: unknown): { value: unknown };
  evaluate(statement: unknown, scope: unknown): { value: unknown };
};
const TemplateInterpreter: InterpreterClass = Interpreter;

interface Scope {
  set(name: string, value: unknown): unknown;
  /** Returns the scope that holds the variable. */
  resolve(name: string): unknown;
}
type EnvironmentClass = new (parent?: Scope) => Scope;
const TemplateEnvironment: EnvironmentClass = Environment;

/**
 * The outermost scope; unknown variables are undefined in it. The library throws and catches an error for each variable
 * that it does not find, which costs some microseconds per access.
 */
class GlobalScope extends TemplateEnvironment {
  override resolve(): unknown {
    return this;
  }
}

/** Limits steps and the size of values, so that no template can block the process. */
class BoundedInterpreter extends TemplateInterpreter {
  #steps = 0;

  override evaluate(statement: unknown, scope: unknown): { value: unknown } {
    this.#count(1);
    const result = super.evaluate(statement, scope);
    const { value } = result;
    if (typeof value === 'string') {
      if (value.length > VALUE_CHARS_MAX)
        throw new TemplateLimitError(`a value has more than ${VALUE_CHARS_MAX} characters`);
      this.#count(Math.floor(value.length / SIZE_PER_STEP));
    } else if (Array.isArray(value)) {
      this.#count(Math.floor(value.length / (createsValue(statement) ? CREATED_ELEMENTS_PER_STEP : SIZE_PER_STEP)));
    }
    return result;
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > STEPS_MAX) throw new TemplateLimitError(`the rendering takes more than ${STEPS_MAX} steps`);
  }
}

/** Statements that return a value that exists already, or whose elements are steps of their own. */
const CHEAP_STATEMENTS = new Set<unknown>(['Identifier', 'MemberExpression', 'ArrayLiteral', 'TupleLiteral']);

const createsValue = (statement: unknown): boolean => isRecord(statement) && !CHEAP_STATEMENTS.has(statement['type']);

function boundedRange(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  if (step === 0) throw new RangeError('range() with a step of 0');
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (count > RANGE_MAX) throw new TemplateLimitError(`range() has more than ${RANGE_MAX} elements`);
  return Array.from({ length: count }, (_, i) => from + i * step);
}

/** Finds special tokens in a text. */
interface SpecialTokenSearch {
  /** Alternatives are sorted longest first, so that no token hides a longer one. */
  readonly pattern: RegExp;
  readonly firstCharacters: readonly string[];
}

function createSpecialTokenSearch(tokens: readonly string[]): SpecialTokenSearch {
  const texts = tokens.filter((text) => text !== '').toSorted((a, b) => b.length - a.length);
  return {
    pattern: new RegExp(texts.map((text) => RegExp.escape(text)).join('|') || '(?!)', 'g'),
    firstCharacters: [...new Set(texts.map((text) => text.charAt(0)))],
  };
}

/** Whether any string in a value contains a special token. Most texts do not even contain a token's first character. */
function containsSpecialToken(value: unknown, special: SpecialTokenSearch): boolean {
  if (typeof value === 'string')
    return special.firstCharacters.some((character) => value.includes(character)) && value.search(special.pattern) >= 0;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => containsSpecialToken(item, special));
  for (const key in value)
    if (containsSpecialToken(key, special) || containsSpecialToken(Reflect.get(value, key), special)) return true;
  return false;
}

function breakSpecialTokens(value: unknown, special: RegExp, separator: string): unknown {
  if (typeof value === 'string')
    return value.replace(special, (token) => `${token.slice(0, 1)}${separator}${token.slice(1)}`);
  if (Array.isArray(value)) return value.map((item) => breakSpecialTokens(item, special, separator));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      String(breakSpecialTokens(key, special, separator)),
      breakSpecialTokens(item, special, separator),
    ]),
  );
}

function toSegments(text: string, special: RegExp): PromptSegment[] {
  const segments: PromptSegment[] = [];
  let from = 0;
  for (const { 0: token, index } of text.matchAll(special)) {
    if (index > from) segments.push({ text: text.slice(from, index), special: false });
    segments.push({ text: token, special: true });
    from = index + token.length;
  }
  if (from < text.length) segments.push({ text: text.slice(from), special: false });
  return segments;
}
