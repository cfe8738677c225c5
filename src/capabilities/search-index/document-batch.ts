import { ServiceError } from '../../core/error.ts';
import type { IndexDocument } from '../../store/index-documents.ts';
import type { Store } from '../../store/store.ts';
import { INDEX_BATCH_DOCUMENTS_MAX, INDEX_BATCH_PASSAGES_MAX } from './limits.ts';

/** Documents that are stored together: a transaction for each would mostly wait for the disk. */
export interface DocumentBatch {
  /** Adds a document, and stores the batch if it is full. @throws ServiceError `conflict` if the collection is gone. */
  add(document: IndexDocument): Promise<void>;
  /** Stores what was added. @throws as `add`. */
  flush(): Promise<void>;
}

export function createDocumentBatch(store: Pick<Store, 'transaction'>): DocumentBatch {
  let pending: IndexDocument[] = [];
  let passages = 0;

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
      pending.push(document);
      passages += document.passages.length;
      if (pending.length >= INDEX_BATCH_DOCUMENTS_MAX || passages >= INDEX_BATCH_PASSAGES_MAX) await flush();
    },
    flush,
  };
}
