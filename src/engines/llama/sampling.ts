import type { SampledToken } from '../choice-output.ts';
import type { GrammarGuard } from './grammar-guard.ts';
import type { Choice, Job } from './job.ts';
import type { NativeModel, NativeSampler } from './native-model.ts';
import type { LogitPlace } from './raw-probabilities.ts';
import type { WireAlternative, WireLogprob } from './protocol.ts';

/** A sampler for one phase of one answer; penalties go on from `history`. */
export function newSampler(
  model: NativeModel,
  { call, gbnf }: Job,
  of: { readonly seed: number; readonly phase: number; readonly history: readonly number[] },
): NativeSampler {
  const { sampling } = call;
  const grammar = gbnf.get(of.phase);
  return model.createSampler({
    temperature: sampling.temperature ?? 1,
    topP: sampling.topP ?? 1,
    topK: sampling.topK ?? 0,
    minP: sampling.minP ?? 0,
    repetitionPenalty: sampling.repetitionPenalty ?? 1,
    presencePenalty: sampling.presencePenalty ?? 0,
    frequencyPenalty: sampling.frequencyPenalty ?? 0,
    logitBias: sampling.logitBias ?? [],
    seed: of.seed,
    history: of.history,
    ...(grammar === undefined ? {} : { grammar: model.createGrammar(grammar) }),
  });
}

/** The next token of an answer, with what it says and how likely it was. */
export async function sampleToken(
  model: NativeModel,
  guard: GrammarGuard,
  { choice, place }: { readonly choice: Choice; readonly place: LogitPlace },
): Promise<SampledToken<WireLogprob>> {
  const { call, gbnf, endTokens, markerTokens } = choice.job;
  const sampled = choice.sampler.sample(place);
  const id = await (gbnf.has(choice.output.phase) ? guard.watch(sampled, choice) : sampled);
  if (id === undefined || model.isEnd(id) || endTokens.has(id)) return { id: id ?? -1, bytes: NO_BYTES, isEnd: true };
  // A control token is structure, not text, unless the family says that it opens something.
  const bytes = model.isControl(id) && !markerTokens.has(id) ? NO_BYTES : model.tokenBytes(id);
  if (!call.logprobs || choice.output.kind !== 'answer') return { id, bytes, isEnd: false };
  return { id, bytes, isEnd: false, logprobs: await readLogprobs(model, place, { token: id, top: call.logprobs.top }) };
}

const NO_BYTES = new Uint8Array();

async function readLogprobs(
  model: NativeModel,
  place: LogitPlace,
  wanted: { token: number; top: number },
): Promise<WireLogprob> {
  const raw = await model.topLogprobs(place, wanted);
  const entry = (id: number, logprob: number | undefined): WireAlternative => ({
    id,
    bytes: [...model.tokenBytes(id)],
    logprob: logprob === undefined || !Number.isFinite(logprob) ? null : Math.min(0, logprob),
  });
  return { ...entry(wanted.token, raw.token), top: raw.top.map((other) => entry(other.token, other.logprob)) };
}
