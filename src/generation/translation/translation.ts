import type { RequestContext } from '../../core/context.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { Generation } from '../generation.ts';
import type { ModelTarget } from '../model-target.ts';
import type { Language } from './languages.ts';
import type { MemoryPair } from './translation-memory.ts';
import type { Term } from './terms.ts';

export interface TranslationOptions {
  /** Undefined: the language is detected. */
  readonly source?: Language;
  readonly target: Language;
  readonly terms: readonly Term[];
  readonly memory: readonly MemoryPair[];
  /** Domain and style, as the caller wrote it. */
  readonly domains?: string;
}

export interface TranslationRequest {
  /** Contains one user message, the text. Other fields apply to every run. */
  readonly request: GenerationRequest;
  /** Undefined: the message is a complete prompt. */
  readonly options?: TranslationOptions;
  /** Request field of the message, for error messages. */
  readonly field: string;
}

export interface Translation extends Generation {
  /**
   * Returns how many of the found terms show their required wording at every occurrence, such as `11/12`. Final after
   * the last event; undefined without terms.
   */
  readonly formatTermScore: () => string | undefined;
  /**
   * Returns what the checks found, such as `unverified; segments=4; untranslated=0; numbers=1; repeated=0`. Final after the
   * last event; undefined when the message is a complete prompt.
   */
  readonly formatReport: () => string | undefined;
}

/**
 * Translates one text. Rejects before the first event when the first run is refused.
 * @throws ServiceError `invalid-request` for an empty or too long text, and any error that `Generate` throws.
 */
export type Translate = (request: TranslationRequest, on: ModelTarget, context: RequestContext) => Promise<Translation>;
