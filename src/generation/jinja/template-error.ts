/** Names of the Python and jinja2 exceptions that a template can raise. */
export type TemplateErrorName =
  | 'TypeError'
  | 'ValueError'
  | 'KeyError'
  | 'IndexError'
  | 'ZeroDivisionError'
  | 'OverflowError'
  | 'UndefinedError'
  | 'SecurityError'
  | 'FilterArgumentError'
  | 'TemplateRuntimeError'
  | 'TemplateError';

/** Thrown by a running template for what Python raises there. The message has Python's wording where templates show it. */
export class TemplateError extends Error {
  readonly pythonName: TemplateErrorName;

  constructor(pythonName: TemplateErrorName, message: string) {
    super(message);
    this.pythonName = pythonName;
  }
}

/** Thrown for a source that is not a template. The message names the line. */
export class TemplateSyntaxError extends Error {
  constructor(message: string, line: number) {
    super(`line ${line}: ${message}`);
  }
}

/** Thrown when a rendering exceeds one of Parley's limits. */
export class TemplateLimitError extends Error {}
