import type { Owner } from '../../../core/context.ts';
import type { Hotword } from '../../../core/speech.ts';
import type { VocabularyEntry, VocabularyRecordSummary, VocabularyListQuery } from '../../../store/vocabularies.ts';

export interface VocabularyDraft {
  readonly targetModel: string;
  readonly prefix: string;
  readonly entries: readonly VocabularyEntry[];
}

/** A vocabulary without its entries. */
export interface VocabularySummary extends VocabularyRecordSummary {
  /** Whether its target model can serve requests now. */
  readonly isUsable: boolean;
}

export interface Vocabulary extends VocabularySummary {
  readonly entries: readonly VocabularyEntry[];
}

/** Limits on the number and size of vocabularies. */
export interface VocabularyLimits {
  /** Vocabularies of one workspace in a region, for all models together. */
  readonly vocabulariesMax: number;
  /** Entries of one vocabulary. */
  readonly entriesMax: number;
}

/**
 * Vocabularies of the primary workspace in one region; an id of another workspace or region is not found. Changes are
 * durable when the promise resolves.
 *
 * Every method that takes an id throws ServiceError `resource-not-found` if the vocabulary does not exist. Every method
 * that takes entries throws `invalid-request`, which names the first invalid entry, and then changes nothing.
 */
export interface Vocabularies {
  /**
   * @returns the id of the new vocabulary.
   * @throws ServiceError `forbidden` outside the primary workspace, or if the region does not offer the model;
   *   `count-quota` above the limit.
   */
  create(owner: Owner, draft: VocabularyDraft): Promise<string>;
  /** Lists the newest first. */
  list(owner: Owner, query: VocabularyListQuery): Promise<readonly VocabularySummary[]>;
  find(owner: Owner, id: string): Promise<Vocabulary>;
  /** Replaces all entries. */
  update(owner: Owner, id: string, entries: readonly VocabularyEntry[]): Promise<void>;
  delete(owner: Owner, id: string): Promise<void>;
  /**
   * Returns the hotwords of a vocabulary that a recognition request names.
   * @param calledModel The model name in the request; it must resolve to the vocabulary's model.
   * @throws ServiceError `invalid-request` if it does not.
   */
  findHotwords(owner: Owner, id: string, calledModel: string): Promise<readonly Hotword[]>;
}
