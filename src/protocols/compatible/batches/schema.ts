import { z } from 'zod';
import { BATCH_ENDPOINTS, BATCH_STATUSES, type BatchStatus } from '../../../core/batch.ts';
import { BATCH_LIST_FILES_MAX, BATCH_PAGE_DEFAULT, BATCH_PAGE_MAX } from '../limits.ts';
import { CREATED_RANGE_TEXTS, createCountField, createCreatedRangeFields } from '../../fields/list-query.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';

/** decodeMetadata validates `metadata`; the schema passes it on unchanged, as it is stored. */
export const CreateBody = z.object({
  input_file_id: z.string(),
  endpoint: z.enum(BATCH_ENDPOINTS),
  completion_window: z.string(),
  metadata: z.unknown().optional(),
});

const isStatus = (text: string): text is BatchStatus => BATCH_STATUSES.some((known) => known === text);

/** A list of comma-separated values. */
const CommaSeparated = z.string().transform((text) =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== ''),
);

/** Creates the schema of the list query (docs/wire/openai-compatible.md#batches). */
export const createListQuery = (time: ZonedTime) =>
  z.object({
    after: z.string().optional(),
    limit: createCountField(BATCH_PAGE_MAX).default(BATCH_PAGE_DEFAULT),
    ds_name: z.string().optional(),
    input_file_ids: CommaSeparated.pipe(z.array(z.string()).min(1).max(BATCH_LIST_FILES_MAX)).optional(),
    status: CommaSeparated.refine((all) => all.length > 0 && all.every(isStatus))
      .transform((all) => all.filter(isStatus))
      .optional(),
    ...createCreatedRangeFields(time),
  });

export const LIST_TEXTS = {
  limit: `Range of limit should be [1, ${BATCH_PAGE_MAX}]`,
  input_file_ids: `input_file_ids must be 1 to ${BATCH_LIST_FILES_MAX} comma-separated ids`,
  status: `status must be a comma-separated list of ${BATCH_STATUSES.join(', ')}`,
  ...CREATED_RANGE_TEXTS,
};
