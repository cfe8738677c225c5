import type { ServiceError } from '../../../core/error.ts';
import type { GenerationRequest, TextPrompt } from '../../../core/request.ts';
import { present } from '../../../lib/present.ts';
import { decodeSampling, decodeStop } from '../../fields/decode-chat.ts';
import { refuse } from '../../parse.ts';
import type { CompletionWire } from './schema.ts';
import { readTemplate } from './template.ts';

/**
 * One request for each prompt, in their order.
 *
 * @throws ServiceError `invalid-request` naming the prompt that nothing can be continued from.
 */
export function decode(wire: CompletionWire): readonly [GenerationRequest, ...GenerationRequest[]] {
  const shared = {
    model: wire.model,
    messages: [],
    // The specification wants one of the two; decisions.md: then temperature counts.
    sampling: decodeSampling(setsBoth(wire) ? { ...wire, top_p: undefined } : wire),
    stop: decodeStop(wire.stop),
    choices: wire.n ?? 1,
    ...present({ maxTokens: wire.max_tokens }),
    ...(typeof wire.logprobs === 'number' ? { logprobs: { top: wire.logprobs } } : {}),
  };
  const [first, ...others] = promptsOf(wire.prompt).map(({ prompt, field }) => ({
    ...shared,
    prompt: typeof prompt === 'string' ? decodeText(prompt, wire.suffix ?? '', field) : tokensOf(prompt),
  }));
  if (!first) throw refuse('prompt', 'prompt must not be empty');
  return [first, ...others];
}

export const setsBoth = ({ temperature, top_p: topP }: CompletionWire): boolean =>
  typeof temperature === 'number' && typeof topP === 'number';

interface Asked {
  readonly prompt: string | readonly number[];
  /** Where it stands in the request. */
  readonly field: string;
}

/** A list of numbers is one prompt, any other list one for each of its items. */
export function promptsOf(prompt: CompletionWire['prompt']): readonly Asked[] {
  if (typeof prompt === 'string' || isTokens(prompt)) return [{ prompt, field: 'prompt' }];
  return prompt.map((each, index) => ({ prompt: each, field: `prompt[${index}]` }));
}

const isTokens = (prompt: readonly (string | number | readonly number[])[]): prompt is readonly number[] =>
  typeof prompt[0] === 'number';

const tokensOf = (tokens: readonly number[]): TextPrompt => ({ type: 'tokens', tokens });

/** Half a surrogate pair is no text: it becomes U+FFFD here, as it would on its way into any tokenizer. */
function decodeText(text: string, suffix: string, field: string): TextPrompt {
  const prompt: TextPrompt | undefined =
    suffix === ''
      ? readTemplate(text.toWellFormed())
      : { type: 'fill', prefix: text.toWellFormed(), suffix: suffix.toWellFormed() };
  if (!prompt) throw refuse(field, `${field} begins like a template and is none of ${TEMPLATES}`);
  if (prompt.type === 'text' && prompt.text === '') throw refuse(field, `${field} must not be empty`);
  if (prompt.type === 'fill' && prompt.prefix === '') throw nothingBefore(field);
  return prompt;
}

const TEMPLATES =
  '<|fim_prefix|>{prefix_content}<|fim_suffix|> and <|fim_prefix|>{prefix_content}<|fim_suffix|>{suffix_content}<|fim_middle|>';

const nothingBefore = (field: string): ServiceError =>
  refuse(field, 'Generating content that precedes a given suffix is unsupported: there must be a prefix');
