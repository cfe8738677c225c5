import type { ModelInterface } from '../../catalogue/model.ts';
import type { RequestContext } from '../../core/context.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { Generation } from '../generation.ts';
import type { Language } from './languages.ts';
import type { MemoryPair } from './memory.ts';
import type { Term } from './terms.ts';

export interface TranslationOptions {
  /** Absent: it is detected. */
  readonly source?: Language;
  readonly target: Language;
  readonly terms: readonly Term[];
  readonly memory: readonly MemoryPair[];
  /** Domain and style, in the caller's own words. */
  readonly domains?: string;
}

export interface TranslationWish {
  /** One user message of text; what else it asks for goes into every run. */
  readonly request: GenerationRequest;
  /** Absent: the message is the prompt. */
  readonly options?: TranslationOptions;
  /** Where the message stands in the request; refusals name it. */
  readonly field: string;
}

export interface Translation extends Generation {
  /**
   * Of the terms that the text has, how many show their wording wherever they stand: `11/12`. Right when the answer's end
   * has been read; undefined when no terms were given.
   */
  readonly terms: () => string | undefined;
}

/**
 * Translates one text. Refusals of its first run reject here, before any head is sent.
 * @throws ServiceError `invalid-request` for a text that is empty or has too many tokens, and as `Generate` does.
 */
export type Translate = (
  wish: TranslationWish,
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<Translation>;
