import type { Owner } from '../../core/context.ts';
import type { Hotword } from '../../core/speech.ts';
import type { VocabularyEntry, VocabularyHead, VocabularyList } from '../../store/vocabularies.ts';

export interface VocabularyDraft {
  readonly targetModel: string;
  readonly prefix: string;
  readonly entries: readonly VocabularyEntry[];
}

/** A vocabulary without its entries. */
export interface VocabularySummary extends VocabularyHead {
  /** Whether its target model can be asked now. */
  readonly isUsable: boolean;
}

export interface Vocabulary extends VocabularySummary {
  readonly entries: readonly VocabularyEntry[];
}

/** How many there may be, and how long each. */
export interface VocabularyLimits {
  /** Of one workspace in a region, of all models together. */
  readonly listsMax: number;
  /** Of one vocabulary. */
  readonly entriesMax: number;
}

/**
 * Vocabularies of the primary workspace in one region; anybody else's are not there.
 *
 * Every method that takes an id throws ServiceError `resource-not-found` where there is no such vocabulary, and every one
 * that takes entries `invalid-request`, which names the first entry that is against a rule; then nothing has changed. What
 * was answered is on the disk.
 */
export interface Vocabularies {
  /**
   * @returns its id.
   * @throws ServiceError `forbidden` outside the primary workspace, and where its model is not offered in this region;
   *   `count-quota` for one too many.
   */
  create(owner: Owner, draft: VocabularyDraft): Promise<string>;
  /** The newest first. */
  list(owner: Owner, wish: VocabularyList): Promise<readonly VocabularySummary[]>;
  find(owner: Owner, id: string): Promise<Vocabulary>;
  /** The new entries take the place of all there were. */
  update(owner: Owner, id: string, entries: readonly VocabularyEntry[]): Promise<void>;
  delete(owner: Owner, id: string): Promise<void>;
  /**
   * For a recognition that names it.
   * @param calledModel As the caller wrote it; it has to lead to the same model as the vocabulary's own.
   * @throws ServiceError `invalid-request` where it does not.
   */
  findHotwords(owner: Owner, id: string, calledModel: string): Promise<readonly Hotword[]>;
}
