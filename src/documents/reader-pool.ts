import { startDocumentReader, type DocumentReader } from './document-reader.ts';

/**
 * Processes that read simple documents one after the other: the start of a process takes a hundred times as long as the
 * reading of a page. A process reads documents of one tenant only, so that no document meets those of another one.
 */
export interface ReaderPool {
  /** Returns an idle process of the tenant, or a new one. The caller gives it back or kills it. */
  take(tenantKey: string): DocumentReader;
  /** Keeps a process for the next document, unless it has read enough. */
  release(tenantKey: string, reader: DocumentReader): void;
}

export interface ReaderPoolOptions {
  /** Idle processes that are kept. Beyond: the one that is idle for the longest time is killed. */
  readonly idleMax: number;
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

export function createReaderPool({ idleMax, documentsPerProcess, idleMs }: ReaderPoolOptions): ReaderPool {
  /** In the order in which they became idle. */
  const idleReaders = new Set<IdleReader>();

  const retire = (idle: IdleReader): void => {
    clearTimeout(idle.timer);
    idleReaders.delete(idle);
    idle.reader.kill();
  };

  return {
    take(tenantKey) {
      for (const idle of idleReaders) {
        if (idle.tenantKey !== tenantKey) continue;
        if (idle.reader.hasEnded()) {
          retire(idle);
          continue;
        }
        clearTimeout(idle.timer);
        idleReaders.delete(idle);
        idle.reader.setReferenced(true);
        return idle.reader;
      }
      return startDocumentReader({ freezesBuiltIns: true });
    },
    release(tenantKey, reader) {
      if (reader.getDocumentCount() >= documentsPerProcess) return reader.kill();
      reader.setReferenced(false);
      const idle: IdleReader = { tenantKey, reader, timer: setTimeout(() => retire(idle), idleMs).unref() };
      idleReaders.add(idle);
      const [oldest] = idleReaders;
      if (oldest && idleReaders.size > idleMax) retire(oldest);
    },
  };
}
