import { compileBody } from './compile-statement.ts';
import { toValue } from './dict.ts';
import { createGlobals } from './globals.ts';
import { parseTemplate } from './parser.ts';
import { Rendering, type StandIns } from './rendering.ts';
import { Scope } from './scope.ts';
import { toText } from './text.ts';
import { Callable, type Value } from './values.ts';

export interface RenderOptions {
  /** Texts that every template can use, e.g. `bos_token`. */
  readonly constants: Readonly<Record<string, string>>;
  /** Functions that every template can call, by name. They get their positional arguments as text. */
  readonly functions: Readonly<Record<string, (...texts: readonly string[]) => string>>;
  /** Characters of the variables that are replaced before the template sees them. Its output still contains them. */
  readonly standIns?: StandIns | undefined;
}

export interface Template {
  /**
   * Renders the template as Python's jinja2 does in transformers: immutable sandbox, `trim_blocks`, `lstrip_blocks`, loop
   * controls and the `generation` tag.
   *
   * @param variables JSON values; a member that is undefined is absent.
   * @throws TemplateError for what Python raises, TemplateLimitError beyond Parley's limits.
   */
  render(variables: Readonly<Record<string, unknown>>, options: RenderOptions): string;
}

/** Parses and compiles a template. @throws TemplateSyntaxError */
export function compileTemplate(source: string): Template {
  const renderBody = compileBody(parseTemplate(source));
  return {
    render(variables, { constants, functions, standIns }) {
      const rendering = new Rendering(standIns);
      const values = createGlobals(rendering);
      for (const [name, text] of Object.entries(constants)) values.set(name, text);
      for (const [name, run] of Object.entries(functions)) values.set(name, createFunction(rendering, name, run));
      for (const [name, value] of Object.entries(variables))
        if (value !== undefined)
          values.set(
            name,
            toValue(value, (text) => rendering.replace(text)),
          );
      return renderBody(new Scope(rendering, new Scope(rendering, undefined, values)));
    },
  };
}

const createFunction = (rendering: Rendering, name: string, run: (...texts: readonly string[]) => string): Value =>
  new Callable(name, (positional) => run(...positional.map((value) => rendering.restore(toText(rendering, value)))));
