import { CHOICES_MAX } from '../../core/limits.ts';
import type { Sampling } from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { EngineCapabilities } from '../engine.ts';
import type { UpstreamMetadata } from './discovery.ts';
import { SERVER_PROFILES } from './server-profiles.ts';

/** Fields that Parley sets, or that change the meaning of a response's events: a declaration cannot forward them. */
const RESERVED_FIELDS: ReadonlySet<string> = new Set([
  'echo',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'n',
  'n_predict',
  'parallel_tool_calls',
  'response_format',
  'stop',
  'stream',
  'stream_options',
  'tool_choice',
  'tools',
  'top_logprobs',
]);

const SAMPLING_OPTIONS: readonly (keyof Sampling)[] = [
  'temperature',
  'topP',
  'topK',
  'minP',
  'repetitionPenalty',
  'presencePenalty',
  'frequencyPenalty',
  'logitBias',
  'seed',
];

/** @param declaredFields Request fields that the operator declares as supported by this server. */
export function getUpstreamCapabilities(
  metadata: UpstreamMetadata,
  declaredFields: readonly string[],
): EngineCapabilities {
  const server = SERVER_PROFILES[metadata.kind];
  const unsupportedSampling = SAMPLING_OPTIONS.filter((option) => !Object.hasOwn(server.samplingFields, option));
  const forwardedFields = [...new Set([...server.forwardedFields, ...declaredFields])].filter(
    (name) => !RESERVED_FIELDS.has(name),
  );
  return {
    input: 'chat',
    logprobs: true,
    promptLogprobs: false,
    grammar: false,
    phases: false,
    cache: false,
    choicesMax: Math.min(CHOICES_MAX, metadata.choicesMax ?? CHOICES_MAX),
    ...omitNullish({
      ignoredSampling: unsupportedSampling.length > 0 ? unsupportedSampling : undefined,
      thinking: server.thinkingControl && (server.thinkingBudgetField === undefined ? 'switch' : 'budget'),
      forwardableFields: forwardedFields.length > 0 ? forwardedFields : undefined,
    }),
  };
}
