import { assert } from '../../lib/assert.ts';
import type { BindingSampler } from './raw-probabilities.ts';

/** Samplers that stand ready beyond the busy ones. Ours: a burst's worth; the rest is left to the garbage collector. */
const SPARE_MAX = 16;

export interface SamplerPool {
  /** A sampler that knows nothing but this configuration. */
  take(config: Readonly<Record<string, unknown>>): BindingSampler;
  giveBack(sampler: BindingSampler): void;
}

/**
 * Samplers of the binding, used again.
 *
 * Each holds a candidate for every token of the vocabulary (1.8 MB at 152,000), which its `dispose` keeps until the
 * garbage collector comes by, and that sees no need to: a sampler per request grew the process by 0.6 MB each.
 */
export function createSamplerPool(create: () => BindingSampler): SamplerPool {
  const spare: BindingSampler[] = [];
  const busy = new Set<BindingSampler>();
  return {
    take(config) {
      const sampler = spare.pop() ?? create();
      const { seed } = config;
      // A seed that does not change would go on where the last answer ended.
      if (typeof seed === 'number') sampler.applyConfig({ ...config, seed: (seed ^ 1) >>> 0 });
      sampler.applyConfig(config);
      busy.add(sampler);
      return sampler;
    },
    giveBack(sampler) {
      assert(busy.delete(sampler), 'a sampler is given back once');
      // Lets go of its grammar, and of what penalties remember.
      sampler.applyConfig({});
      if (spare.length < SPARE_MAX) spare.push(sampler);
      else sampler.dispose();
    },
  };
}
