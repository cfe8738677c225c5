import type { EngineModelInfo } from '../catalogue/engine-model-info.ts';
import type { ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { findFillInTheMiddle } from '../core/fill-in-the-middle.ts';
import type { GenerationRequest, Sampling } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import { createPromptRenderer } from './prompt-renderer.ts';
import { canKeepThoughts, canThink } from './thinking.ts';
import { USUAL_THOUGHTS } from './thoughts/thought-format.ts';

/**
 * Returns the context size and abilities that a loaded model has, to complete its catalogue entry. For models whose
 * prompts Parley renders, the chat template and the special tokens show the abilities; other servers report them.
 *
 * @param getRenderer Returns the renderer of a model. Default: a new one, which takes some milliseconds.
 */
export const detectModelInfo = (
  loaded: LoadedModel,
  { input, logprobs }: Pick<TextEngine['capabilities'], 'input' | 'logprobs'>,
  getRenderer = createPromptRenderer(),
): EngineModelInfo => {
  const { contextTokens, abilities } = loaded;
  if (input === 'chat') return { contextTokens, abilities: abilities ?? {} };
  const thinking = isTrainedToThink(loaded, getRenderer) ? ('native' as const) : (false as const);
  const fillInTheMiddle = findFillInTheMiddle(undefined, loaded) !== undefined;
  const detected = { tools: true, logprobs: logprobs !== false, thinking, fillInTheMiddle };
  return { contextTokens, abilities: { ...detected, ...abilities } };
};

function isTrainedToThink(model: LoadedModel, getRenderer: ReturnType<typeof createPromptRenderer>): boolean {
  if (model.specialTokens.includes(USUAL_THOUGHTS.open)) return true;
  try {
    return getRenderer(model).findThoughtFormat(false).isShown;
  } catch {
    // A template that cannot be parsed fails when a request uses it.
    return false;
  }
}

/**
 * Rejects what the model of a request cannot do. An unknown ability counts as missing for an engine that takes prompts;
 * a server that renders and parses by itself gets the request and rejects it in its own words.
 *
 * @param model Its entry holds the abilities that the engine reported.
 * @throws ServiceError `unsupported` or `invalid-request`, naming the field.
 */
export function checkAbilities(request: GenerationRequest, model: ResolvedModel, engine: TextEngine): void {
  const { requestedName, entry } = model;
  // The API's own text comes first: docs/wire/dashscope-native.md#errors.
  const lacks = (ability: boolean | undefined): boolean => !(ability ?? engine.capabilities.input === 'chat');
  if (request.toolUse && lacks(entry.abilities.tools))
    throw new ServiceError('unsupported', `The tool call is not supported. (tools: model ${requestedName})`, {
      param: 'tools',
    });
  if (request.logprobs && (lacks(entry.abilities.logprobs) || !engine.capabilities.logprobs))
    throw new ServiceError('unsupported', `Model ${requestedName} does not return log probabilities.`, {
      param: 'logprobs',
    });
  if (request.logprobs && request.maxTokens !== 0 && engine.capabilities.logprobs === 'greedy')
    checkIsGreedy(request, model);
  if (request.promptLogprobs && engine.capabilities.input === 'prompt' && !engine.capabilities.promptLogprobs)
    throw new ServiceError(
      'unsupported',
      `Model ${requestedName} does not return log probabilities of the prompt: ${describeServer(entry)} does not report them. Send the request without echo or without logprobs.`,
      { param: 'echo' },
    );
  const imageIndex = request.messages.findIndex((message) => message.content.some((part) => part.type !== 'text'));
  if (imageIndex >= 0 && lacks(entry.abilities.vision))
    throw new ServiceError(
      'invalid-request',
      `input content must be a string. (messages[${imageIndex}].content: model ${requestedName} accepts text only)`,
      {
        param: `messages[${imageIndex}].content`,
      },
    );
}

/** @throws ServiceError `unsupported` for sampling that changes the log probabilities which the server reports. */
function checkIsGreedy(request: GenerationRequest, { requestedName, entry }: ResolvedModel): void {
  const { temperature, repetitionPenalty, presencePenalty, frequencyPenalty, logitBias }: Sampling = {
    ...entry.sampling,
    ...request.sampling,
  };
  const hasPenalty = (repetitionPenalty ?? 1) !== 1 || Boolean(presencePenalty) || Boolean(frequencyPenalty);
  if (temperature === 0 && !hasPenalty && !logitBias?.size && !usesGrammar(request)) return;
  throw new ServiceError(
    'unsupported',
    `Model ${requestedName} returns log probabilities only with temperature 0, without penalties, logit_bias, an output format or a required tool call: ${describeServer(entry)} reports those after sampling options.`,
    { param: 'logprobs' },
  );
}

const describeServer = ({ runner }: ModelEntry): string =>
  runner.type === 'upstream' || runner.type === 'program'
    ? `its server${runner.remote.server ? ` (${runner.remote.server})` : ''}`
    : 'its engine';

/** Whether the engine returns log probabilities only for freely sampled tokens and this request uses a grammar. */
export const lacksLogprobs = (
  request: GenerationRequest,
  { logprobs: supported }: TextEngine['capabilities'],
): boolean => request.logprobs !== undefined && supported === 'free' && usesGrammar(request);

const usesGrammar = ({ outputFormat, toolUse }: GenerationRequest): boolean =>
  outputFormat !== undefined || (toolUse?.choice ?? 'auto') !== 'auto';

/** Returns the request fields that the model or the engine ignores, by the names that API callers know. */
export function findIgnoredFields(
  request: GenerationRequest,
  entry: ModelEntry,
  { capabilities }: TextEngine,
): string[] {
  const hasCacheMarks = request.messages.some(({ content }) =>
    content.some((part) => part.type === 'text' && part.cache),
  );
  const checks: readonly (readonly [string, boolean])[] = [
    ['thinking', request.thinking !== undefined && !canThink(entry, capabilities)],
    ['preserve_thinking', request.preserveThinking === true && !canKeepThoughts(entry, capabilities)],
    ['cache_control', !capabilities.cache && hasCacheMarks],
    ['logprobs(grammar)', lacksLogprobs(request, capabilities)],
  ];
  const sampling = (capabilities.ignoredSampling ?? []).filter((name) => request.sampling[name] !== undefined);
  const ignoredExtraFields = Object.keys(request.extraFields ?? {}).filter(
    (name) => !capabilities.forwardableFields?.includes(name),
  );
  return [
    ...checks.filter(([, isIgnored]) => isIgnored).map(([name]) => name),
    ...sampling.map((name) => SAMPLING_FIELDS[name]),
    ...ignoredExtraFields,
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
