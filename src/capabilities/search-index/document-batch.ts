import { ServiceError } from '../../core/error.ts';
import type { IndexDocument } from '../../store/index-documents.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../lib/clock.ts';
import { INDEX_BATCH_DOCUMENTS_MAX, INDEX_BATCH_MS_MAX, INDEX_BATCH_PASSAGES_MAX } from './limits.ts';

/** Documents that are stored together: a transaction for each would mostly wait for the disk. */
export interface DocumentBatch {
  /** Adds a document, and stores the batch if it is full or its first document has waited long. @throws ServiceError `conflict` if the collection is gone. */
  add(document: IndexDocument): Promise<void>;
  /** Stores what was added. @throws as `add`. */
  flush(): Promise<void>;
}

export interface DocumentBatchDeps {
  readonly store: Pick<Store, 'transaction'>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createDocumentBatch({ store, clock }: DocumentBatchDeps): DocumentBatch {
  let pending: IndexDocument[] = [];
  let passages = 0;
  let startedAt = 0;

  const flush = async (): Promise<void> => {
    const documents = pending;
    pending = [];
    passages = 0;
    if (documents.length === 0) return;
    await store.transaction(async ({ indexDocuments }) => {
      for (const document of documents)
        if (!(await indexDocuments.upsert(document)))
          throw new ServiceError('conflict', `The collection ${document.collection} was removed during the refresh.`);
    });
  };

  return {
    async add(document) {
      if (pending.length === 0) startedAt = clock.now();
      pending.push(document);
      passages += document.passages.length;
      const isFull = pending.length >= INDEX_BATCH_DOCUMENTS_MAX || passages >= INDEX_BATCH_PASSAGES_MAX;
      if (isFull || clock.now() - startedAt >= INDEX_BATCH_MS_MAX) await flush();
    },
    flush,
  };
}
