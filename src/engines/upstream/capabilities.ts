import { CHOICES_MAX } from '../../core/limits.ts';
import type { Sampling } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { EngineCapabilities } from '../engine.ts';
import type { Found } from './discovery.ts';
import { SERVERS } from './servers.ts';

/** Fields that are ours to set, or that would change what an answer's events mean: no declaration passes them on. */
const OURS: ReadonlySet<string> = new Set([
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

const WISHES: readonly (keyof Sampling)[] = [
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

/** @param forward Fields that the operator declares for this server. */
export function capabilitiesOf(found: Found, forward: readonly string[]): EngineCapabilities {
  const server = SERVERS[found.kind];
  const unheard = WISHES.filter((wish) => !Object.hasOwn(server.sampling, wish));
  const forwards = [...new Set([...server.forwards, ...forward])].filter((name) => !OURS.has(name));
  return {
    input: 'chat',
    logprobs: true,
    grammar: false,
    phases: false,
    cache: false,
    choicesMax: Math.min(CHOICES_MAX, found.choicesMax ?? CHOICES_MAX),
    ...present({
      unheardSampling: unheard.length > 0 ? unheard : undefined,
      thinking: server.thinking && (server.thinkingBudget === undefined ? 'switch' : 'budget'),
      forwards: forwards.length > 0 ? forwards : undefined,
    }),
  };
}
