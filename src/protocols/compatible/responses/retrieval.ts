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
  // What they ask for is told in any case, or never.
  include: z.string().optional(),
  'include[]': z.string().optional(),
  include_obfuscation: z.string().optional(),
});

/**
 * How a response is asked for (wire.md E6.2): whole, or by its events behind a number, -1 for all. `starting_after` says
 * something of a stream only, but is looked at in any case.
 * @throws ServiceError `invalid-request`.
 */
export function retrievalOf(
  query: URLSearchParams,
  { strict }: { readonly strict: boolean },
): { readonly isStreamed: boolean; readonly after: number; readonly unknown: readonly string[] } {
  const fields = Object.fromEntries([...query].filter(([name, value]) => value !== '' || name === 'starting_after'));
  const texts = { starting_after: SEQUENCE_TEXT, stream: 'stream must be one of true, false' };
  const { wire, unknown } = parseBody(RetrievalQuery, fields, { texts, strict });
  return { isStreamed: wire.stream === 'true', after: wire.starting_after ?? -1, unknown };
}
