import { assert } from '../../lib/assert.ts';
import type { BindingSampler } from './raw-probabilities.ts';

/** Idle samplers kept for reuse: enough for a burst of requests. Chosen by Parley; others are garbage-collected. */
const IDLE_SAMPLERS_MAX = 16;

export interface SamplerPool {
  /** Returns a sampler with this configuration and no other state. */
  acquire(config: Readonly<Record<string, unknown>>): BindingSampler;
  release(sampler: BindingSampler): void;
}

/**
 * Reuses samplers of the native binding.
 *
 * Each sampler holds a candidate for every token of the vocabulary (1.8 MB at 152,000 tokens). `dispose` frees this
 * memory only at the next garbage collection, which the native memory does not trigger: one sampler per request made
 * the process grow by 0.6 MB per request.
 */
export function createSamplerPool(create: () => BindingSampler): SamplerPool {
  const idle: BindingSampler[] = [];
  const busy = new Set<BindingSampler>();
  return {
    acquire(config) {
      const sampler = idle.pop() ?? create();
      const { seed } = config;
      // An unchanged seed would not reset the generator, which would continue from the last answer.
      if (typeof seed === 'number') sampler.applyConfig({ ...config, seed: (seed ^ 1) >>> 0 });
      sampler.applyConfig(config);
      busy.add(sampler);
      return sampler;
    },
    release(sampler) {
      assert(busy.delete(sampler), 'a sampler is released once');
      // Releases the grammar and the tokens that penalties remember.
      sampler.applyConfig({});
      if (idle.length < IDLE_SAMPLERS_MAX) idle.push(sampler);
      else sampler.dispose();
    },
  };
}
