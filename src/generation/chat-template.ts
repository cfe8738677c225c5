import { ServiceError } from '../core/error.ts';
import type { PromptSegment } from '../core/prompt.ts';
import { compileTemplate, type Template } from './jinja/template.ts';
import { TemplateError, TemplateLimitError, TemplateSyntaxError } from './jinja/template-error.ts';
import { createSpecialTokens } from './special-tokens.ts';
import { strftime } from './strftime.ts';

/**
 * A chat template from a model file. It has no access to the host, and its work is limited.
 *
 * A text of a caller may read like a special token but must stay text: see special-tokens.ts.
 */
export interface ChatTemplate {
  /**
   * @param variables Values that the template can read; every string in them comes from a caller.
   * @throws ServiceError `invalid-request` with the template's message when the template rejects the messages, fails or
   *   exceeds a limit.
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

/** @throws ServiceError `overloaded` for a template that cannot be parsed, or that is nested too deeply. */
export function createChatTemplate({ source, specialTokens, bosToken, eosToken }: ChatTemplateOptions): ChatTemplate {
  const template = parseTemplate(source);
  const special = createSpecialTokens(specialTokens);
  const constants = { bos_token: bosToken, eos_token: eosToken };
  return {
    render(variables) {
      try {
        const standIns = special.createStandIns(variables);
        const text = template.render(variables, { constants, functions: FUNCTIONS, standIns });
        return special.split(text, standIns);
      } catch (error) {
        throw toServiceError(error);
      }
    },
  };
}

function parseTemplate(source: string): Template {
  try {
    return compileTemplate(source);
  } catch (error) {
    const reason = error instanceof TemplateSyntaxError ? error.message : 'it is nested too deeply';
    throw new ServiceError(
      'overloaded',
      `The model's chat template cannot be parsed (${reason}). The operator can set another with chatTemplate.`,
      { cause: error },
    );
  }
}

/** Functions that transformers gives to templates. */
const FUNCTIONS = {
  raise_exception(message = ''): never {
    throw new TemplateError('TemplateError', message);
  },
  strftime_now: (format = ''): string => strftime(new Date(), format),
};

function toServiceError(error: unknown): ServiceError {
  const fail = (message: string): ServiceError =>
    new ServiceError('invalid-request', message, { param: 'messages', cause: error });
  if (error instanceof TemplateError && error.pythonName === 'TemplateError')
    return fail(`The model's chat template rejects these messages: ${error.message}`);
  if (error instanceof TemplateError)
    return fail(`The model's chat template fails with these messages: ${error.pythonName}: ${error.message}`);
  if (error instanceof TemplateLimitError)
    return fail(`The model's chat template cannot render these messages within its limits: ${error.message}.`);
  // A template that recurses overflows the stack; nothing that a template does is a fault of the service.
  return fail("The model's chat template cannot render these messages.");
}
