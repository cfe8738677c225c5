import type { Kysely, Selectable } from 'kysely';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { TranscriptionPartsTable } from './schema/tasks.ts';

/** One audio of a transcription. */
export interface PartRecord {
  /** From 0, in the order in which they were asked for. */
  readonly number: number;
  /** Its address, as asked. */
  readonly source: string;
  readonly state: TranscriptionPartsTable['state'];
  readonly sourceBlob: string | undefined;
  /** Bytes of that blob, once it is there. */
  readonly sourceBytes: number | undefined;
  /** JSON of what is known of an audio that was heard to its end. */
  readonly facts: string | undefined;
  /** Why one has failed, in the words of its interface. */
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** One channel of one audio of a task. */
export interface AudioChannel {
  readonly taskId: string;
  /** Number of the part. */
  readonly part: number;
  readonly channel: number;
}

export interface WindowRecord {
  /** The sample behind it. */
  readonly endSample: number;
  /** JSON. */
  readonly text: string;
}

export type PartEnd =
  | { readonly state: 'succeeded'; readonly facts: string }
  | { readonly state: 'failed'; readonly code: string; readonly message: string };

/** What is heard of the audios of a task. */
export interface TranscriptionStore {
  /** In the transaction of the task. */
  insert(taskId: string, sources: readonly string[]): Promise<void>;
  parts(taskId: string): Promise<readonly PartRecord[]>;
  /** Says where its bytes are going to be, before they are written; undefined: nowhere any more. */
  setSource(taskId: string, number: number, source: { blob: string; bytes?: number } | undefined): Promise<void>;
  /** Of no effect where there is one of that number: whoever comes later heard the same. */
  addWindow(channel: AudioChannel, window: WindowRecord & { readonly number: number }): Promise<void>;
  /** In their order. */
  windows(channel: AudioChannel): Promise<readonly WindowRecord[]>;
  /** False where it has ended. */
  endPart(taskId: string, number: number, end: PartEnd): Promise<boolean>;
  /** Of these names of blobs those that a part has. */
  known(blobs: readonly string[]): Promise<ReadonlySet<string>>;
  remove(taskId: string): Promise<void>;
}

export function createTranscriptionStore(db: Kysely<Database>, run: Run): TranscriptionStore {
  const updatePart = (taskId: string, number: number) =>
    db.updateTable('transcription_parts').where('task_id', '=', taskId).where('number', '=', number);

  return {
    insert: (taskId, sources) =>
      run(async () => {
        const rows = sources.map((source, number) => ({ task_id: taskId, number, source, state: 'waiting' as const }));
        await db.insertInto('transcription_parts').values(rows).execute();
      }),
    parts: (taskId) =>
      run(async () => {
        const rows = await db
          .selectFrom('transcription_parts')
          .selectAll()
          .where('task_id', '=', taskId)
          .orderBy('number')
          .execute();
        return rows.map(decode);
      }),
    setSource: (taskId, number, source) =>
      run(async () => {
        await updatePart(taskId, number)
          .set({ source_blob: source?.blob ?? null, source_bytes: source?.bytes ?? null })
          .execute();
      }),
    addWindow: ({ taskId, part, channel }, { number, endSample, text }) =>
      run(async () => {
        await db
          .insertInto('transcription_windows')
          .values({ task_id: taskId, part, channel, number, end_sample: endSample, text })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }),
    windows: ({ taskId, part, channel }) =>
      run(async () => {
        const rows = await db
          .selectFrom('transcription_windows')
          .select(['end_sample', 'text'])
          .where('task_id', '=', taskId)
          .where('part', '=', part)
          .where('channel', '=', channel)
          .orderBy('number')
          .execute();
        return rows.map(({ end_sample, text }) => ({ endSample: end_sample, text }));
      }),
    endPart: (taskId, number, end) =>
      run(async () => {
        const row = await updatePart(taskId, number)
          .set({
            state: end.state,
            ...(end.state === 'succeeded' ? { facts: end.facts } : { code: end.code, message: end.message }),
          })
          .where('state', '=', 'waiting')
          .returning('number')
          .executeTakeFirst();
        return row !== undefined;
      }),
    known: (blobs) =>
      run(async () => {
        if (blobs.length === 0) return new Set();
        const rows = await db
          .selectFrom('transcription_parts')
          .select('source_blob')
          .where('source_blob', 'in', [...blobs])
          .execute();
        return new Set(rows.flatMap(({ source_blob }) => (source_blob === null ? [] : [source_blob])));
      }),
    remove: (taskId) =>
      run(async () => {
        await db.deleteFrom('transcription_windows').where('task_id', '=', taskId).execute();
        await db.deleteFrom('transcription_parts').where('task_id', '=', taskId).execute();
      }),
  };
}

const decode = (row: Selectable<TranscriptionPartsTable>): PartRecord => ({
  number: row.number,
  source: row.source,
  state: row.state,
  sourceBlob: row.source_blob ?? undefined,
  sourceBytes: row.source_bytes ?? undefined,
  facts: row.facts ?? undefined,
  code: row.code ?? undefined,
  message: row.message ?? undefined,
});
