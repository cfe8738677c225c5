import { z } from 'zod';
import { BATCH_ENDPOINTS, BATCH_STATUSES, type BatchStatus } from '../../../core/batch.ts';
import { BATCH_LIST_FILES_MAX, BATCH_PAGE_DEFAULT, BATCH_PAGE_MAX } from '../../../core/limits.ts';
import { CREATED_TEXTS, countField, createdFields } from '../../fields/list-query.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';

/** What stands in `metadata` is looked into by metadata-of.ts: taken over whole, it is kept as it was sent. */
export const CreateBody = z.object({
  input_file_id: z.string(),
  endpoint: z.enum(BATCH_ENDPOINTS),
  completion_window: z.string(),
  metadata: z.unknown().optional(),
});

const isStatus = (text: string): text is BatchStatus => BATCH_STATUSES.some((known) => known === text);

/** Values with commas between them. */
const listed = z.string().transform((text) =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== ''),
);

/** wire.md E9.3. */
export const listQuery = (time: ZonedTime) =>
  z.object({
    after: z.string().optional(),
    limit: countField(BATCH_PAGE_MAX).default(BATCH_PAGE_DEFAULT),
    ds_name: z.string().optional(),
    input_file_ids: listed.pipe(z.array(z.string()).min(1).max(BATCH_LIST_FILES_MAX)).optional(),
    status: listed
      .refine((all) => all.length > 0 && all.every(isStatus))
      .transform((all) => all.filter(isStatus))
      .optional(),
    ...createdFields(time),
  });

export const LIST_TEXTS = {
  limit: `Range of limit should be [1, ${BATCH_PAGE_MAX}]`,
  input_file_ids: `input_file_ids must be 1 to ${BATCH_LIST_FILES_MAX} ids with commas between them`,
  status: `status must be any of ${BATCH_STATUSES.join(', ')} with commas between them`,
  ...CREATED_TEXTS,
};
