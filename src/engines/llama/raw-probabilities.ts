/** Where a token's logits lie in the last batch. */
export type LogitPlace = number & { readonly __logitPlace: never };

export interface BindingSampler {
  applyConfig(config: Record<string, unknown>): void;
  dispose(): void;
}

/** The part of the library's binding that looks at logits. */
export interface SamplingBinding {
  sampleToken(place: LogitPlace, sampler: BindingSampler): Promise<number>;
  /** `probabilities` alternates token and share, best first, of what the sampler left; `confidence` is the token's share. */
  sampleToken(
    place: LogitPlace,
    sampler: BindingSampler,
    probabilities: boolean,
    confidence: boolean,
  ): Promise<[token: number, probabilities: number[] | undefined, confidence: number | undefined]>;
}

export interface RawLogprobs {
  readonly token: number | undefined;
  /** Best first. */
  readonly top: readonly { readonly token: number; readonly logprob: number }[];
}

interface Needs {
  readonly binding: SamplingBinding;
  readonly newSampler: (config: Record<string, unknown>) => BindingSampler;
  readonly vocabularySize: number;
}

/** Candidates read at first; a sampled token is seldom further down. */
const CANDIDATES = 64;

/** Tokens less likely than this share of the best one do not count: in single precision their sum changes nothing. */
const SHARE_MIN = 1e-8;

/**
 * Reads the model's own log probabilities, before any sampling option.
 *
 * The binding gives shares among the tokens that a sampler leaves, and sorts those. Two samplers of our own are put
 * together: one knows the shares of the first candidates among themselves, the other the share of one token in
 * (practically) the whole vocabulary. Asking for everything at once costs 42 ms a token at 152,000 entries; this 2 to 13.
 */
export function createRawProbabilities({ binding, newSampler, vocabularySize }: Needs) {
  const first = newSampler({ temperature: 1, topK: CANDIDATES, seed: 1 });
  const wholeConfig = { temperature: 1, minP: SHARE_MIN };
  const whole = newSampler({ ...wholeConfig, seed: 1 });
  const greedy = newSampler({});

  const candidates = async (place: LogitPlace, sampler: BindingSampler): Promise<Map<number, number>> => {
    const [, shares = []] = await binding.sampleToken(place, sampler, true, false);
    const logs = new Map<number, number>();
    for (let i = 0; i + 1 < shares.length; i += 2) logs.set(shares[i] ?? 0, Math.log(shares[i + 1] ?? 0));
    return logs;
  };

  /** What has to be added to a candidate's logarithm: any one token known on both sides tells. */
  const shiftOf = async (place: LogitPlace, logs: ReadonlyMap<number, number>): Promise<number> => {
    // Drawn anew from the same seed: the same logits give the same figures, to the last bit. (A seed that does not change
    // would not be taken up.)
    whole.applyConfig({ ...wholeConfig, seed: 2 });
    whole.applyConfig({ ...wholeConfig, seed: 1 });
    const [drawn, , share = 1] = await binding.sampleToken(place, whole, false, true);
    const known = logs.get(drawn);
    if (known !== undefined) return Math.log(share) - known;
    const [best, , bestShare = 1] = await binding.sampleToken(place, greedy, false, true);
    return Math.log(bestShare) - (logs.get(best) ?? 0);
  };

  return inTurn(async (place: LogitPlace, { top, token }: { top: number; token: number }): Promise<RawLogprobs> => {
    let logs = await candidates(place, first);
    if (!logs.has(token)) {
      const all = newSampler({ temperature: 1, topK: vocabularySize, seed: 1 });
      logs = await candidates(place, all);
      all.dispose();
    }
    const shift = await shiftOf(place, logs);
    const own = logs.get(token);
    return {
      token: own === undefined ? undefined : own + shift,
      top: [...logs].slice(0, top).map(([id, log]) => ({ token: id, logprob: log + shift })),
    };
  });
}

/** One call after the other: a sampler of the binding has one buffer and works on a thread of its own. */
function inTurn<A extends readonly unknown[], R>(work: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const result = last.then(() => work(...args));
    last = result.catch(() => undefined);
    return result;
  };
}
