import { z } from 'zod';
import { parseBody } from '../../parse.ts';

const SEQUENCE_TEXT = 'starting_after must be the sequence_number of an event, a whole number from 0 on';

const RetrievalQuery = z.object({
  stream: z.enum(['true', 'false']).default('false'),
  starting_after: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional(),
  // Included data is always part of the response; obfuscation never is.
  include: z.string().optional(),
  'include[]': z.string().optional(),
  include_obfuscation: z.string().optional(),
});

/**
 * Decodes how to retrieve a response: as one object, or as events after the sequence number `after`, -1 for all.
 * `starting_after` has an effect only for a stream, but is always validated
 * (docs/wire/openai-compatible.md#responses-routes).
 * @throws ServiceError `invalid-request`.
 */
export function decodeRetrievalQuery(
  query: URLSearchParams,
  { strict }: { readonly strict: boolean },
): { readonly isStreamed: boolean; readonly after: number; readonly unknown: readonly string[] } {
  const fields = Object.fromEntries([...query].filter(([name, value]) => value !== '' || name === 'starting_after'));
  const texts = { starting_after: SEQUENCE_TEXT, stream: 'stream must be one of true, false' };
  const { wire, unknown } = parseBody(RetrievalQuery, fields, { texts, strict });
  return { isStreamed: wire.stream === 'true', after: wire.starting_after ?? -1, unknown };
}
