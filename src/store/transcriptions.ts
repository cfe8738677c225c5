import type { Kysely, Selectable } from 'kysely';
import { hasRow } from './row-queries.ts';
import { decodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { TranscriptionPartsTable } from './schema/tasks.ts';

/** One audio file of a transcription task. */
export interface TranscriptionPartRecord {
  /** Counts from 0 in the order of the request. */
  readonly number: number;
  /** URL of the audio as requested. */
  readonly source: string;
  readonly state: TranscriptionPartsTable['state'];
  readonly sourceBlob: string | undefined;
  /** Size of the downloaded audio; undefined until the download has finished. */
  readonly sourceBytes: number | undefined;
  /** JSON of the metadata of a completely transcribed audio. */
  readonly metadata: string | undefined;
  /** Error code and message of a failed audio, as the API defines them. */
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** One channel of an audio file. */
export interface TranscriptionChannel {
  readonly taskId: string;
  /** Number of the part. */
  readonly part: number;
  readonly channel: number;
}

/** Transcript of a window of an audio channel. */
export interface TranscriptionWindowRecord {
  /** Index of the first sample after the window. */
  readonly endSample: number;
  /** JSON of the sentences. */
  readonly text: string;
}

export type TranscriptionPartResult =
  | { readonly state: 'succeeded'; readonly metadata: string }
  | { readonly state: 'failed'; readonly code: string; readonly message: string };

/** Audio files and transcripts of transcription tasks. */
export interface TranscriptionStore {
  /** Inserts the audio files, in the transaction that inserts the task. */
  insert(taskId: string, sources: readonly string[]): Promise<void>;
  listParts(taskId: string): Promise<readonly TranscriptionPartRecord[]>;
  /** Records the blob name of the download before it is written; undefined removes the record. */
  setSource(taskId: string, number: number, source: { blob: string; bytes?: number } | undefined): Promise<void>;
  /** Does nothing if a window of this number exists: both transcripts are the same. */
  addWindow(
    channel: TranscriptionChannel,
    window: TranscriptionWindowRecord & { readonly number: number },
  ): Promise<void>;
  /** Lists the windows in order. */
  listWindows(channel: TranscriptionChannel): Promise<readonly TranscriptionWindowRecord[]>;
  /** Records the result; false if the part has already ended. */
  finishPart(taskId: string, number: number, end: TranscriptionPartResult): Promise<boolean>;
  /** Returns those of the blob names that a part records. */
  filterReferenced(blobs: readonly string[]): Promise<ReadonlySet<string>>;
  remove(taskId: string): Promise<void>;
}

export function createTranscriptionStore(db: Kysely<Database>): TranscriptionStore {
  const updatePart = (taskId: string, number: number) =>
    db.updateTable('transcription_parts').where('task_id', '=', taskId).where('number', '=', number);

  return {
    async insert(taskId, sources) {
      const rows = sources.map((source, number) => ({ task_id: taskId, number, source, state: 'waiting' as const }));
      await db.insertInto('transcription_parts').values(rows).execute();
    },
    async listParts(taskId) {
      const rows = await db
        .selectFrom('transcription_parts')
        .selectAll()
        .where('task_id', '=', taskId)
        .orderBy('number')
        .execute();
      return rows.map(decode);
    },
    async setSource(taskId, number, source) {
      await updatePart(taskId, number)
        .set({ source_blob: source?.blob ?? null, source_bytes: source?.bytes ?? null })
        .execute();
    },
    async addWindow({ taskId, part, channel }, { number, endSample, text }) {
      await db
        .insertInto('transcription_windows')
        .values({ task_id: taskId, part, channel, number, end_sample: endSample, text })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async listWindows({ taskId, part, channel }) {
      const rows = await db
        .selectFrom('transcription_windows')
        .select(['end_sample', 'text'])
        .where('task_id', '=', taskId)
        .where('part', '=', part)
        .where('channel', '=', channel)
        .orderBy('number')
        .execute();
      return rows.map(({ end_sample, text }) => ({ endSample: end_sample, text }));
    },
    async finishPart(taskId, number, end) {
      return hasRow(
        updatePart(taskId, number)
          .set({
            state: end.state,
            ...(end.state === 'succeeded' ? { facts: end.metadata } : { code: end.code, message: end.message }),
          })
          .where('state', '=', 'waiting')
          .returning('number'),
      );
    },
    async filterReferenced(blobs) {
      if (blobs.length === 0) return new Set();
      const rows = await db
        .selectFrom('transcription_parts')
        .select('source_blob')
        .where('source_blob', 'in', [...blobs])
        .execute();
      return new Set(rows.flatMap(({ source_blob }) => (source_blob === null ? [] : [source_blob])));
    },
    async remove(taskId) {
      await db.deleteFrom('transcription_windows').where('task_id', '=', taskId).execute();
      await db.deleteFrom('transcription_parts').where('task_id', '=', taskId).execute();
    },
  };
}

const decode = ({
  task_id: _taskId,
  facts: metadata,
  ...row
}: Selectable<TranscriptionPartsTable>): TranscriptionPartRecord => decodeRow({ ...row, metadata });
