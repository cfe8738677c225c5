import type { Migration } from '../migrate.ts';
import { keys } from './0001-keys.ts';
import { conversations } from './0002-conversations.ts';
import { files } from './0003-files.ts';
import { jobs } from './0004-jobs.ts';
import { batches } from './0005-batches.ts';
import { texts } from './0006-texts.ts';
import { background } from './0007-background.ts';
import { deployments } from './0008-deployments.ts';
import { vocabularies } from './0009-vocabularies.ts';
import { tasks } from './0010-tasks.ts';
import { searchIndex } from './0011-search-index.ts';
import { research } from './0012-research.ts';
import { uploads } from './0013-uploads.ts';
import { indexRegions } from './0014-index-regions.ts';
import { keyUses } from './0015-key-uses.ts';
import { indexTermFormats } from './0016-index-term-formats.ts';
import { blobHashes } from './0017-blob-hashes.ts';
import { retention } from './0018-retention.ts';

/**
 * All migrations in order. A released migration never changes: every change is a new migration with the next number.
 */
export const MIGRATIONS: readonly Migration[] = [
  keys,
  conversations,
  files,
  jobs,
  batches,
  texts,
  background,
  deployments,
  vocabularies,
  tasks,
  searchIndex,
  research,
  uploads,
  indexRegions,
  keyUses,
  indexTermFormats,
  blobHashes,
  retention,
];
