import { setImmediate as turnOfOthers } from 'node:timers/promises';
import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import { EXTRACT_TRIES, FILE_LEASE_MS, FILE_RENEW_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { Store } from '../../store/store.ts';
import { EXTRACT_PURPOSE } from './file.ts';
import type { FileLimits, Files, ReceivedFile } from './file.ts';
import { FILE_BLOB_PREFIX, finishDelete, withTotal } from './remove.ts';
import { newJob } from '../jobs/new-job.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { makeRoom, notHeld, type RoomWaits } from './make-room.ts';
import { checkCount, checkFileSize, cleanDescription, cleanName, grantBytes, idPrefixOf, sortKeyOf } from './rules.ts';

export interface FilesNeeds {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly limitsOf: (workspace: string) => FileLimits;
  /** Rung for each file whose text is to be read. */
  readonly bell?: Pick<JobBell, 'ring'>;
  readonly ids?: Ids;
  readonly every?: Every;
  readonly roomWaits?: RoomWaits;
}

export function createFiles(needs: FilesNeeds): Files {
  const { store, blobs, clock, log, limitsOf, bell, ids = systemIds, every = systemEvery, roomWaits: waits } = needs;
  const leaseUntil = (): number => clock.now() + FILE_LEASE_MS;

  // What is being received or was and is not kept yet: while we live, nobody takes its room.
  const held = new Set<string>();
  const whole = new Set<string>();
  const stop = every(FILE_RENEW_MS, () => {
    if (held.size === 0) return;
    store.files.renew([...held], leaseUntil()).catch((error: unknown) => {
      log.warn('room for files that come in could not be held', { error: String(error) });
    });
  });

  // What must not lose the store in the middle of its work.
  const working = new Set<Promise<unknown>>();
  const tracked = <T>(work: Promise<T>): Promise<T> => {
    working.add(work);
    const forget = (): void => void working.delete(work);
    work.then(forget, forget);
    return work;
  };

  /** @returns the bytes that are reserved. */
  const reserve = (owner: Owner, blob: string, limits: FileLimits): Promise<number> =>
    withTotal(store, owner, async ({ files, fileTotals }, total) => {
      checkCount(total, limits);
      const bytes = grantBytes({ needed: 0, sizeBytes: 0 }, total, limits) ?? 0;
      const { region, workspace, keyId } = owner;
      await files.reserve({ blob, region, workspace, keyId, bytes, leaseUntil: leaseUntil(), at: clock.now() });
      await fileTotals.add(owner, { files: 1, bytes });
      return bytes;
    });

  const resize = (owner: Owner, blob: string, bytes: number): Promise<void> =>
    withTotal(store, owner, async ({ files, fileTotals }) => {
      if (!(await files.grow(blob, { bytes, leaseUntil: leaseUntil() }))) throw notHeld();
      await fileTotals.add(owner, { files: 0, bytes });
    });

  const letGo = async (owner: Owner, blob: string): Promise<void> => {
    if (!held.delete(blob)) return;
    whole.delete(blob);
    try {
      const wish = { leaseUntil: leaseUntil(), at: clock.now() };
      await withTotal(store, owner, async ({ files, fileTotals }) => {
        const reservation = await files.giveUp(blob, wish);
        if (reservation) await fileTotals.add(owner, { files: -1, bytes: -reservation.bytes });
        // It may have become a file although we were not told so; one whose lease ended has no row any more.
        else if ((await files.known([blob])).has(blob)) throw new Error(`${blob} is no reservation`);
      });
      await finishDelete({ store, blobs }, blob);
    } catch (error) {
      log.warn('what is left of an upload is swept later', { error: String(error) });
    }
  };

  const receive = async (
    owner: Owner,
    source: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<ReceivedFile> => {
    const limits = limitsOf(owner.workspace);
    const blob = ids.sortable(FILE_BLOB_PREFIX);
    let reserved = await reserve(owner, blob, limits);
    held.add(blob);
    try {
      const allow = async (sizeBytes: number): Promise<void> => {
        checkFileSize(sizeBytes, limits);
        if (sizeBytes <= reserved) return;
        reserved += await makeRoom({
          store,
          clock,
          owner,
          blob,
          limits,
          signal,
          whole,
          waits,
          needed: sizeBytes - reserved,
          sizeBytes,
        });
      };
      const facts = await blobs.put(blob, source, { allow, signal });
      // What it reserved ahead is room for others now, the next ones of the same upload among them.
      if (reserved > facts.sizeBytes) await resize(owner, blob, facts.sizeBytes - reserved);
      whole.add(blob);
      return { blob, ...facts };
    } catch (thrown) {
      // Its sender may hear of it inside an answer that is good otherwise: nobody else would tell the operator.
      if (thrown instanceof ServiceError && thrown.kind === 'overloaded' && thrown.cause instanceof Error) {
        log.warn('there was no room for a file', { error: String(thrown.cause) });
      }
      await letGo(owner, blob);
      throw thrown;
    }
  };

  const findAnywhere = async (id: string) => (await store.files.findAnywhere(id)) ?? noFile();

  return {
    findAnywhere,

    receive: (owner, source, { signal } = {}) => tracked(receive(owner, source, signal)),

    async keep(owner, wanted) {
      const drafts = wanted.map(({ received, draft: { name, description, purpose } }) => ({
        received,
        facts: { name: cleanName(name), description: cleanDescription(description), purpose },
      }));
      if (drafts.length === 0) return [];
      const records = await withTotal(store, owner, async ({ files, fileTotals, jobs, texts }) => {
        const kept = [];
        for (const { received, facts } of drafts) {
          const { blob, sizeBytes, md5 } = received;
          const id = ids.sortable(idPrefixOf(facts.purpose));
          const sortKey = sortKeyOf(id) ?? id;
          const number = await fileTotals.nextNumber();
          const made = { ...facts, id, sortKey, number, sizeBytes, md5, createdAt: clock.now() };
          const { record, heldBytes } = (await files.activate(blob, made)) ?? throwing(notHeld());
          await fileTotals.add(owner, { files: 0, bytes: sizeBytes - heldBytes });
          await fileTotals.addToCount(owner, facts.purpose, 1);
          if (facts.purpose === EXTRACT_PURPOSE) {
            await texts.insert(blob, record.createdAt);
            const wish = { kind: 'extract', subject: id, owner, payload: {}, tries: EXTRACT_TRIES } as const;
            await jobs.insert(newJob(wish, { ids, clock }));
          }
          kept.push(record);
        }
        return kept;
      });
      for (const { received } of drafts) {
        held.delete(received.blob);
        whole.delete(received.blob);
      }
      if (records.some(({ purpose }) => purpose === EXTRACT_PURPOSE)) bell?.ring('due');
      return records;
    },

    async drop(owner, files) {
      for (const { blob } of files) await tracked(letGo(owner, blob));
    },

    find: async (owner, id) => (await store.files.find(owner, id)) ?? noFile(),

    async list(owner, { after, ...wish }) {
      const key = after === undefined ? undefined : (sortKeyOf(after) ?? noCursor(after));
      return await store.files.list(owner, { ...wish, after: key });
    },

    count: (owner, purpose) => store.fileTotals.countOf(owner, purpose),

    async delete(owner, id) {
      const wish = { leaseUntil: leaseUntil(), at: clock.now() };
      const { blob } = await withTotal(store, owner, async ({ batches, files, fileTotals, jobs }) => {
        const retired = (await files.retire(owner, id, wish)) ?? noFile();
        // Batches are made under the same lock: none begins to read it behind our back.
        if (await batches.usesInput(id)) throw inUse();
        await fileTotals.add(owner, { files: -1, bytes: -retired.bytes });
        if (retired.purpose !== undefined) await fileTotals.addToCount(owner, retired.purpose, -1);
        if (retired.purpose === EXTRACT_PURPOSE) await jobs.remove('extract', id);
        return retired;
      });
      await finishDelete({ store, blobs }, blob).catch((error: unknown) => {
        log.warn('what is left of a deleted file is swept later', { error: String(error) });
      });
    },

    read: ({ blob }, range) => blobs.read(blob, range),
    async close() {
      stop();
      do {
        await Promise.allSettled(working);
        // Whoever was told of a failure lets go of what came in before it.
        await turnOfOthers();
      } while (working.size > 0);
    },
  };
}

function noFile(): never {
  throw new ServiceError('file-not-found', 'File not found.');
}

function noCursor(after: string): never {
  const shown = after.slice(0, 80).toWellFormed();
  throw new ServiceError('invalid-request', `after must be the id of a file, got '${shown}'.`, { param: 'after' });
}

const inUse = (): ServiceError =>
  new ServiceError('conflict', 'The file is the input of a batch that has not ended: cancel that one first, or wait.');

function throwing(error: ServiceError): never {
  throw error;
}
