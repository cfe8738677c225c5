import type { SampledToken } from '../choice-output.ts';
import type { GrammarGuard } from './grammar-guard.ts';
import type { JobChoice, GenerationJob } from './job.ts';
import type { NativeModel, NativeSampler } from './native-model.ts';
import type { LogitsIndex } from './raw-probabilities.ts';
import type { LineAlternative, LineLogprob } from './protocol.ts';

/** Creates the sampler for one phase of a choice. Penalties continue from `history`. */
export function createPhaseSampler(
  model: NativeModel,
  { call, grammars }: GenerationJob,
  options: { readonly seed: number; readonly phase: number; readonly history: readonly number[] },
): NativeSampler {
  const { sampling } = call;
  const grammar = grammars.gbnfByPhase.get(options.phase);
  return model.createSampler({
    temperature: sampling.temperature ?? 1,
    topP: sampling.topP ?? 1,
    topK: sampling.topK ?? 0,
    minP: sampling.minP ?? 0,
    repetitionPenalty: sampling.repetitionPenalty ?? 1,
    presencePenalty: sampling.presencePenalty ?? 0,
    frequencyPenalty: sampling.frequencyPenalty ?? 0,
    logitBias: sampling.logitBias ?? [],
    seed: options.seed,
    history: options.history,
    ...(grammar === undefined ? {} : { grammar: model.createGrammar(grammar) }),
  });
}

/** Samples the next token of a choice, with its bytes and, if requested, its log probabilities. */
export async function sampleToken(
  model: NativeModel,
  guard: GrammarGuard,
  { choice, logitsIndex }: { readonly choice: JobChoice; readonly logitsIndex: LogitsIndex },
): Promise<SampledToken<LineLogprob>> {
  const { call, grammars, endTokens, markerTokens } = choice.job;
  const sampled = choice.sampler.sample(logitsIndex);
  const id = await (grammars.gbnfByPhase.has(choice.output.phase)
    ? guard.watch(sampled, call.owner.workspace)
    : sampled);
  if (id === undefined || model.isEnd(id) || endTokens.has(id)) {
    const end = { id: id ?? -1, bytes: NO_BYTES, isEndToken: true };
    if (id === undefined || !call.logprobs || !call.promptLogprobs) return end;
    return { ...end, logprobs: await readLogprobs(model, logitsIndex, { token: id, top: call.logprobs.top }) };
  }
  // Control tokens are structure, not text, unless the model family lists them as markers.
  const bytes = model.isControl(id) && !markerTokens.has(id) ? NO_BYTES : model.tokenBytes(id);
  if (!call.logprobs || choice.output.kind !== 'answer') return { id, bytes, isEndToken: false };
  return {
    id,
    bytes,
    isEndToken: false,
    logprobs: await readLogprobs(model, logitsIndex, { token: id, top: call.logprobs.top }),
  };
}

const NO_BYTES = new Uint8Array();

/** Reads the log probability of a token, and the most likely tokens at its position. */
export async function readLogprobs(
  model: NativeModel,
  logitsIndex: LogitsIndex,
  request: { token: number; top: number },
): Promise<LineLogprob> {
  const raw = await model.topLogprobs(logitsIndex, request);
  const toAlternative = (id: number, logprob: number | undefined): LineAlternative => ({
    id,
    bytes: [...model.tokenBytes(id)],
    logprob: logprob === undefined || !Number.isFinite(logprob) ? null : Math.min(0, logprob),
  });
  return {
    ...toAlternative(request.token, raw.token),
    top: raw.top.map((other) => toAlternative(other.token, other.logprob)),
  };
}
