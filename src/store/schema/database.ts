import type { BatchesTable, BatchLinesTable } from './batches.ts';
import type { BlobHashesTable } from './blob-hashes.ts';
import type { BackgroundRunsTable, ResponseEventsTable } from './background.ts';
import type { ConversationsTable } from './conversations.ts';
import type { DeploymentEventsTable, DeploymentsTable } from './deployments.ts';
import type { FileCountsTable, FilesTable, FileTotalsTable } from './files.ts';
import type { ItemsTable } from './items.ts';
import type { JobsTable } from './jobs.ts';
import type { KeysTable } from './keys.ts';
import type { MigrationsTable } from './migrations.ts';
import type { ResearchRunsTable, ResearchStepsTable } from './research.ts';
import type { ResponsesTable } from './responses.ts';
import type {
  IndexCollectionsTable,
  IndexDocumentsTable,
  IndexPassagesTable,
  IndexVectorsTable,
} from './search-index.ts';
import type { SequencesTable } from './sequences.ts';
import type { TasksTable, TranscriptionPartsTable, TranscriptionWindowsTable } from './tasks.ts';
import type { TextsTable } from './texts.ts';
import type { UploadPartsTable, UploadsTable } from './uploads.ts';
import type { VocabulariesTable, VocabularyPlacesTable } from './vocabularies.ts';

export interface Database {
  batch_lines: BatchLinesTable;
  batches: BatchesTable;
  blob_hashes: BlobHashesTable;
  background_runs: BackgroundRunsTable;
  conversations: ConversationsTable;
  deployment_events: DeploymentEventsTable;
  deployments: DeploymentsTable;
  file_counts: FileCountsTable;
  file_totals: FileTotalsTable;
  files: FilesTable;
  index_collections: IndexCollectionsTable;
  index_documents: IndexDocumentsTable;
  index_passages: IndexPassagesTable;
  index_vectors: IndexVectorsTable;
  items: ItemsTable;
  jobs: JobsTable;
  keys: KeysTable;
  migrations: MigrationsTable;
  research_runs: ResearchRunsTable;
  research_steps: ResearchStepsTable;
  response_events: ResponseEventsTable;
  responses: ResponsesTable;
  sequences: SequencesTable;
  tasks: TasksTable;
  texts: TextsTable;
  transcription_parts: TranscriptionPartsTable;
  transcription_windows: TranscriptionWindowsTable;
  upload_parts: UploadPartsTable;
  uploads: UploadsTable;
  vocabularies: VocabulariesTable;
  vocabulary_places: VocabularyPlacesTable;
}
