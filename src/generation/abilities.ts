import type { Known } from '../catalogue/known.ts';
import type { ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { GenerationRequest, Sampling } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import { canKeepThoughts, canThink, opensThoughts } from './thinking.ts';

/** What a loaded model adds to its entry. Of a model whose prompts we write, its template and special tokens tell. */
export const knownOf = (
  { contextTokens, abilities, chatTemplate = '', specialTokens }: LoadedModel,
  { input, logprobs }: Pick<TextEngine['capabilities'], 'input' | 'logprobs'>,
): Known => {
  if (input === 'chat') return { contextTokens, abilities: abilities ?? {} };
  const thinking = opensThoughts(chatTemplate, specialTokens) ? ('native' as const) : (false as const);
  const fillInTheMiddle = specialTokens.some((token) => /fim.?middle/i.test(token));
  const told = { tools: true, logprobs: logprobs !== false, thinking, fillInTheMiddle };
  return { contextTokens, abilities: { ...told, ...abilities } };
};

/**
 * Refuses what the model of a request cannot do.
 *
 * @param model Its entry with what its engine knows; what is unknown even then, it cannot.
 * @throws ServiceError `unsupported` or `invalid-request`, naming the field.
 */
export function checkAbilities(request: GenerationRequest, { asked, entry }: ResolvedModel, engine: TextEngine): void {
  // wire.md 1.7 has the first sentence.
  if (request.toolUse && !entry.abilities.tools)
    throw new ServiceError('unsupported', `The tool call is not supported. (tools: model ${asked})`, {
      param: 'tools',
    });
  if (request.logprobs && !(entry.abilities.logprobs && engine.capabilities.logprobs))
    throw new ServiceError('unsupported', `Model ${asked} does not return log probabilities.`, { param: 'logprobs' });
  if (request.choices > engine.capabilities.choicesMax)
    throw new ServiceError(
      'invalid-request',
      `Range of n should be [1, ${engine.capabilities.choicesMax}] (n: ${request.choices})`,
      { param: 'n' },
    );
  const withImage = request.messages.findIndex((message) => message.content.some((part) => part.type !== 'text'));
  if (withImage >= 0 && !entry.abilities.vision)
    throw new ServiceError(
      'invalid-request',
      `input content must be a string. (messages[${withImage}].content: model ${asked} takes text only)`,
      {
        param: `messages[${withImage}].content`,
      },
    );
}

/** Some engines have probabilities only for tokens that no grammar chose from. */
export const lacksLogprobs = (
  { logprobs, outputFormat, toolUse }: GenerationRequest,
  { logprobs: given }: TextEngine['capabilities'],
): boolean =>
  logprobs !== undefined && given === 'free' && (outputFormat !== undefined || (toolUse?.choice ?? 'auto') !== 'auto');

/** What was asked of a model or an engine that cannot hear it, by the names that callers know. */
export function unheardFields(request: GenerationRequest, entry: ModelEntry, { capabilities }: TextEngine): string[] {
  const hasCacheMarks = request.messages.some(({ content }) =>
    content.some((part) => part.type === 'text' && part.cache),
  );
  const wishes: readonly (readonly [string, boolean])[] = [
    ['thinking', request.thinking !== undefined && !canThink(entry, capabilities)],
    ['preserve_thinking', request.preserveThinking === true && !canKeepThoughts(entry, capabilities)],
    ['cache_control', !capabilities.cache && hasCacheMarks],
    ['logprobs(grammar)', lacksLogprobs(request, capabilities)],
  ];
  const sampling = (capabilities.unheardSampling ?? []).filter((name) => request.sampling[name] !== undefined);
  const further = Object.keys(request.further ?? {}).filter((name) => !capabilities.forwards?.includes(name));
  return [
    ...wishes.filter(([, isUnheard]) => isUnheard).map(([name]) => name),
    ...sampling.map((name) => SAMPLING_FIELDS[name]),
    ...further,
  ];
}

const SAMPLING_FIELDS: Record<keyof Sampling, string> = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  minP: 'min_p',
  repetitionPenalty: 'repetition_penalty',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  seed: 'seed',
};
