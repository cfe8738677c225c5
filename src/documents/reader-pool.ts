import { startDocumentReader, type DocumentReader } from './document-reader.ts';

/**
 * Processes that read simple documents one after the other: the start of a process takes a hundred times as long as the
 * reading of a page. A process reads documents of one tenant only, so that no document meets those of another one.
 */
export interface ReaderPool {
  /** Returns an idle process of the tenant, or a new one. The caller releases or ends it. */
  take(tenantKey: string): Promise<DocumentReader>;
  /** Starts a process for one document. If there are too many, the one that is idle for the longest time ends first. */
  start(options: { readonly freezesBuiltIns: boolean }): Promise<DocumentReader>;
  /** Keeps a process for the next document, unless it has read enough. */
  release(tenantKey: string, reader: DocumentReader): Promise<void>;
  /** Kills a process, and waits until its memory is free. */
  end(reader: DocumentReader): Promise<void>;
}

export interface ReaderPoolOptions {
  /** Processes in use and idle ones together. The caller never uses more at once. */
  readonly processesMax: number;
  /** Documents that a process reads before it is replaced. */
  readonly documentsPerProcess: number;
  /** Time in ms that an idle process is kept. */
  readonly idleMs: number;
}

interface IdleReader {
  readonly tenantKey: string;
  readonly reader: DocumentReader;
  readonly timer: NodeJS.Timeout;
}

export function createReaderPool({ processesMax, documentsPerProcess, idleMs }: ReaderPoolOptions): ReaderPool {
  /** In the order in which they became idle. */
  const idleReaders = new Set<IdleReader>();
  const endingReaders = new Set<Promise<unknown>>();
  let usedCount = 0;

  const kill = async (reader: DocumentReader): Promise<void> => {
    reader.setReferenced(true);
    reader.kill();
    endingReaders.add(reader.termination);
    await reader.termination;
    endingReaders.delete(reader.termination);
  };

  const retire = (idle: IdleReader): void => {
    clearTimeout(idle.timer);
    idleReaders.delete(idle);
    void kill(idle.reader);
  };

  const start: ReaderPool['start'] = async (options) => {
    usedCount++;
    while (usedCount + idleReaders.size + endingReaders.size > processesMax) {
      const [oldest] = idleReaders;
      if (oldest) retire(oldest);
      if (endingReaders.size === 0) break;
      await Promise.race(endingReaders);
    }
    return startDocumentReader(options);
  };

  const end = async (reader: DocumentReader): Promise<void> => {
    await kill(reader);
    usedCount--;
  };

  return {
    async take(tenantKey) {
      for (const idle of idleReaders) {
        if (idle.tenantKey !== tenantKey) continue;
        if (idle.reader.hasEnded()) {
          retire(idle);
          continue;
        }
        clearTimeout(idle.timer);
        idleReaders.delete(idle);
        idle.reader.setReferenced(true);
        usedCount++;
        return idle.reader;
      }
      return await start({ freezesBuiltIns: true });
    },
    start,
    async release(tenantKey, reader) {
      if (reader.getDocumentCount() >= documentsPerProcess) return await end(reader);
      usedCount--;
      reader.setReferenced(false);
      const idle: IdleReader = { tenantKey, reader, timer: setTimeout(() => retire(idle), idleMs).unref() };
      idleReaders.add(idle);
    },
    end,
  };
}
