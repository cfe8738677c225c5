import type { RequestContext } from '../core/context.ts';
import type { Message } from '../core/message.ts';
import { onIterationEnd } from '../lib/on-iteration-end.ts';
import { hasImageUrls, type OpenRequestImages } from './fetch-images.ts';
import type { Generation } from './generation.ts';

interface ShareImagesOptions {
  readonly openImages: OpenRequestImages;
  /** All messages of the request. */
  readonly messages: readonly Message[];
  readonly context: RequestContext;
}

/**
 * Runs a request that may have several model runs: they share its images, so that each is fetched once. The images are
 * released when the answer ends in any way.
 */
export async function shareImages<Result extends Generation>(
  { openImages, messages, context }: ShareImagesOptions,
  run: (context: RequestContext) => Promise<Result>,
): Promise<Result> {
  if (context.images || !hasImageUrls(messages)) return await run(context);
  const images = openImages(context.owner.workspace);
  const release = (): void => {
    context.signal.removeEventListener('abort', release);
    images.release();
  };
  // Also when nobody reads the answer.
  context.signal.addEventListener('abort', release, { once: true });
  try {
    const generation = await run({ ...context, images });
    return { ...generation, batches: onIterationEnd(generation.batches, release) };
  } catch (error) {
    release();
    throw error;
  }
}
