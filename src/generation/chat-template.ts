import { randomBytes } from 'node:crypto';
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { ServiceError } from '../core/error.ts';
import type { PromptSegment } from '../core/prompt.ts';
import { strftime } from './strftime.ts';

/** Steps of the interpreter for one rendering. Ours: a 10,000-message conversation takes about two fifths. */
const STEPS_MAX = 1_000_000;

/** Characters that any value inside a rendering may have. Ours. */
const VALUE_CHARS_MAX = 64 * 1024 * 1024;

/** Elements of a `range`. Ours. */
const RANGE_MAX = 100_000;

/**
 * A chat template from a model file: text without access to the host, run by an interpreter with a step limit.
 *
 * Callers' strings may hold what reads like a special token; in the prompt they stay text. Before rendering, each such
 * place is broken by a mark that occurs nowhere else; afterwards what still reads like a special token is the
 * template's own, and the marks are taken out of the text.
 */
export interface ChatTemplate {
  /**
   * @param variables What the template sees; every string in it is a caller's.
   * @throws ServiceError `invalid-request` with the template's own words where it refuses (raise_exception).
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
  const program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  const globals = createGlobals({ bosToken, eosToken });
  const special = specialTexts(specialTokens);
  // Nobody outside sees it, so nobody can write it.
  const mark = `\uFDD0${randomBytes(8).toString('hex')}\uFDD1`;
  return {
    render(variables) {
      // Most conversations hold nothing that reads like a special token, and need no copy.
      if (!holdsSpecial(variables, special)) return toSegments(run(program, globals, variables), special.pattern);
      const text = run(program, globals, defuse(variables, special.pattern, mark) as typeof variables);
      return toSegments(text, special.pattern)
        .map((segment) => (segment.special ? segment : { ...segment, text: segment.text.replaceAll(mark, '') }))
        .filter(({ text: clean }) => clean !== '');
    },
  };
}

/** What every template can use besides its variables; made once, as a rendering leaves nothing in it. */
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
      throw new ServiceError('invalid-request', `The model's template refuses these messages: ${String(message)}`, {
        param: 'messages',
      });
    },
    strftime_now: (format: unknown) => strftime(new Date(), String(format)),
  };
  for (const [name, value] of Object.entries(values)) globals.set(name, value);
  return globals;
}

function run(program: ReturnType<typeof parse>, globals: Scope, variables: Readonly<Record<string, unknown>>): string {
  const scope = new TemplateEnvironment(globals);
  for (const [name, value] of Object.entries(variables)) scope.set(name, value);
  let value: unknown;
  try {
    value = new BoundedInterpreter(scope).run(program).value;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (error instanceof TemplateLimitError)
      throw new ServiceError('invalid-request', `The model's chat template cannot render so much: ${error.message}.`, {
        param: 'messages',
        cause: error,
      });
    throw new ServiceError('engine-failed', "The model's chat template cannot render these messages.", {
      cause: error,
    });
  }
  return String(value);
}

/** A rendering that does not end within our limits. */
class TemplateLimitError extends RangeError {}

/** The library's declarations lose their types under Node's module resolution; this is what we use of its classes. */
type InterpreterClass = new (scope: unknown) => {
  run(program: unknown): { value: unknown };
  evaluate(statement: unknown, scope: unknown): { value: unknown };
};
const TemplateInterpreter: InterpreterClass = Interpreter;

interface Scope {
  set(name: string, value: unknown): unknown;
  /** The scope that has the variable. */
  resolve(name: string): unknown;
}
type EnvironmentClass = new (parent?: Scope) => Scope;
const TemplateEnvironment: EnvironmentClass = Environment;

/**
 * The outermost scope. What it lacks is undefined; the library throws an error and catches it to find that out, which
 * costs some microseconds for each variable that a template asks for and is not given.
 */
class GlobalScope extends TemplateEnvironment {
  override resolve(): unknown {
    return this;
  }
}

/** Counts steps and looks at sizes, so that no template can hold the process up. */
class BoundedInterpreter extends TemplateInterpreter {
  #steps = 0;

  override evaluate(statement: unknown, scope: unknown): { value: unknown } {
    if (++this.#steps > STEPS_MAX) throw new TemplateLimitError(`it takes more than ${STEPS_MAX} steps`);
    const result = super.evaluate(statement, scope);
    if (typeof result.value === 'string' && result.value.length > VALUE_CHARS_MAX)
      throw new TemplateLimitError(`it makes more than ${VALUE_CHARS_MAX} characters`);
    return result;
  }
}

function boundedRange(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  if (step === 0) throw new RangeError('range() with a step of 0');
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (count > RANGE_MAX) throw new TemplateLimitError(`range() of more than ${RANGE_MAX} elements`);
  return Array.from({ length: count }, (_, i) => from + i * step);
}

/** Texts of special tokens, to be looked for. */
interface Special {
  /** Longest first, so that no token hides a longer one. */
  readonly pattern: RegExp;
  readonly beginnings: readonly string[];
}

function specialTexts(tokens: readonly string[]): Special {
  const texts = tokens.filter((text) => text !== '').toSorted((a, b) => b.length - a.length);
  return {
    pattern: new RegExp(texts.map((text) => RegExp.escape(text)).join('|') || '(?!)', 'g'),
    beginnings: [...new Set(texts.map((text) => text.charAt(0)))],
  };
}

/** Whether any string in a value holds a special token. Most texts have not even the character that they begin with. */
function holdsSpecial(value: unknown, special: Special): boolean {
  if (typeof value === 'string')
    return special.beginnings.some((character) => value.includes(character)) && value.search(special.pattern) >= 0;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => holdsSpecial(item, special));
  for (const key in value)
    if (holdsSpecial(key, special) || holdsSpecial(Reflect.get(value, key), special)) return true;
  return false;
}

function defuse(value: unknown, special: RegExp, mark: string): unknown {
  if (typeof value === 'string')
    return value.replace(special, (token) => `${token.slice(0, 1)}${mark}${token.slice(1)}`);
  if (Array.isArray(value)) return value.map((item) => defuse(item, special, mark));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [String(defuse(key, special, mark)), defuse(item, special, mark)]),
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
