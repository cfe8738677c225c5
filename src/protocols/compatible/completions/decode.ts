import type { ServiceError } from '../../../core/error.ts';
import type { GenerationRequest, TextPrompt } from '../../../core/request.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { decodeSampling, decodeStop } from '../../fields/decode-chat.ts';
import { createFieldError } from '../../parse.ts';
import type { CompletionWire } from './schema.ts';
import { parseFillTemplate } from './template.ts';

/**
 * Returns one generation request for each prompt, in order.
 *
 * @throws ServiceError `invalid-request` naming a prompt that cannot be continued.
 */
export function decodeCompletion(wire: CompletionWire): readonly [GenerationRequest, ...GenerationRequest[]] {
  const shared = {
    model: wire.model,
    messages: [],
    // The documentation allows one of the two; Parley uses temperature (docs/wire/choices.md#generation).
    sampling: decodeSampling(setsTemperatureAndTopP(wire) ? { ...wire, top_p: undefined } : wire),
    stop: decodeStop(wire.stop),
    choices: wire.n ?? 1,
    ...omitNullish({ maxTokens: wire.max_tokens }),
    ...(typeof wire.logprobs === 'number' ? { logprobs: { top: wire.logprobs } } : {}),
    ...(wire.echo === true && typeof wire.logprobs === 'number' ? { promptLogprobs: { top: wire.logprobs } } : {}),
  };
  const [first, ...others] = listPrompts(wire.prompt).map(({ prompt, field }) => ({
    ...shared,
    prompt: typeof prompt === 'string' ? decodeText(prompt, wire.suffix ?? '', field) : toTokenPrompt(prompt),
  }));
  if (!first) throw createFieldError('prompt', 'prompt must not be empty');
  return [first, ...others];
}

export const setsTemperatureAndTopP = ({ temperature, top_p: topP }: CompletionWire): boolean =>
  typeof temperature === 'number' && typeof topP === 'number';

interface PromptField {
  readonly prompt: string | readonly number[];
  /** Path of the prompt in the request. */
  readonly field: string;
}

/** Lists the prompts: a list of numbers is one prompt, any other list holds one prompt per item. */
export function listPrompts(prompt: CompletionWire['prompt']): readonly PromptField[] {
  if (typeof prompt === 'string' || isTokens(prompt)) return [{ prompt, field: 'prompt' }];
  return prompt.map((each, index) => ({ prompt: each, field: `prompt[${index}]` }));
}

const isTokens = (prompt: readonly (string | number | readonly number[])[]): prompt is readonly number[] =>
  typeof prompt[0] === 'number';

const toTokenPrompt = (tokens: readonly number[]): TextPrompt => ({ type: 'tokens', tokens });

/** Decodes a text prompt. Half a surrogate pair becomes U+FFFD, as in every tokenizer. */
function decodeText(text: string, suffix: string, field: string): TextPrompt {
  const prompt: TextPrompt | undefined =
    suffix === ''
      ? parseFillTemplate(text.toWellFormed())
      : { type: 'fill', prefix: text.toWellFormed(), suffix: suffix.toWellFormed() };
  if (!prompt) throw createFieldError(field, `${field} starts like a template but matches none of ${TEMPLATES}`);
  if (prompt.type === 'text' && prompt.text === '') throw createFieldError(field, `${field} must not be empty`);
  if (prompt.type === 'fill' && prompt.prefix === '') throw createMissingPrefixError(field);
  return prompt;
}

const TEMPLATES =
  '<|fim_prefix|>{prefix_content}<|fim_suffix|> and <|fim_prefix|>{prefix_content}<|fim_suffix|>{suffix_content}<|fim_middle|>';

const createMissingPrefixError = (field: string): ServiceError =>
  createFieldError(field, 'Generating content that precedes a given suffix is unsupported: there must be a prefix');
