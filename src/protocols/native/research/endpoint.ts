import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { Research, ResearchRuns } from '../../../core/research.ts';
import { stream } from '../../endpoint.ts';
import type { Reply } from '../../endpoint.ts';
import { checkIsOffered } from '../../fields/region-rule.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody, refuse } from '../../parse.ts';
import { generationTexts } from '../generation/schema.ts';
import { decodeResearch } from './decode.ts';
import { ignoredFields } from './ignored-fields.ts';
import { likenessOf } from './likeness.ts';
import { openedWhenRead } from './opened-when-read.ts';
import { ResearchBody } from './schema.ts';
import { researchStream } from './stream.ts';
import type { ResearchStreamOptions } from './stream.ts';

export interface ResearchNeeds extends ResearchStreamOptions {
  readonly research: Pick<Research, 'clarify'>;
  readonly runs: ResearchRuns;
}

interface Asked {
  readonly body: unknown;
  /** As the caller wrote it. */
  readonly model: string;
  readonly entry: ModelEntry;
  readonly isStreamed: boolean;
}

/**
 * The path's answer of a deep research model (E4, wire.md E4): a question back to a first message, a report to whatever comes
 * after an answer to it. A question ends with its connection; a run does not.
 */
export async function research(
  { research: asking, runs, streamPlan, strict }: ResearchNeeds & { readonly strict: boolean },
  { body, model, entry, isStreamed }: Asked,
  context: RequestContext,
): Promise<Reply> {
  checkIsOffered(INTERFACES.research, context);
  if (!isStreamed) throw refuse('X-Svc-SSE', STREAM_ONLY);
  const { wire, unknown } = parseBody(ResearchBody, body, { texts: () => generationTexts(entry), strict });
  const request = decodeResearch(model, wire, entry);
  const isQuestion = request.messages.length === 1;
  context.log.add({ researchStep: isQuestion ? 1 : 2 });
  const batches = openedWhenRead(() =>
    isQuestion ? asking.clarify(request, context) : runs.open({ request, likeness: likenessOf(request) }, context),
  );
  const headers = ignoredHeader([...ignoredFields(wire), ...unknown]);
  return stream(batches, researchStream({ streamPlan }, context.requestId), headers);
}

/** wire.md 1.7. */
const STREAM_ONLY = 'This model only support stream mode, please enable the stream parameter to access the model.';
