import type { ResearchPipeline, ResearchRuns } from '../research.ts';
import { createStreamReply } from '../../../protocols/endpoint.ts';
import type { GenerationHandler } from '../../../protocols/native/generation/generation-handler.ts';
import { checkRegion } from '../../../protocols/fields/region-rule.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { parseBody, createFieldError } from '../../../protocols/parse.ts';
import { createGenerationTexts } from '../../../protocols/native/generation/schema.ts';
import { decodeResearch } from './decode.ts';
import { listIgnoredResearchFields } from './ignored-fields.ts';
import { computeResearchFingerprint } from './fingerprint.ts';
import { openOnFirstRead } from './open-on-first-read.ts';
import { ResearchBody } from './schema.ts';
import { createResearchStreamEncoder } from './stream.ts';
import type { ResearchStreamOptions } from './stream.ts';

export interface NativeResearchDeps extends ResearchStreamOptions {
  readonly research: Pick<ResearchPipeline, 'clarify'>;
  readonly runs: ResearchRuns;
}

/**
 * Creates the handler of requests to deep research models (docs/wire/dashscope-native.md#deep-research-request): a first message
 * gets a clarifying question, a longer conversation a report. A disconnect cancels the question; a report's run
 * continues.
 */
export const createResearchGenerationHandler =
  ({ research: pipeline, runs, streamPlan }: NativeResearchDeps): GenerationHandler =>
  async ({ body, model, entry, isStreamed, strict }, context) => {
    checkRegion(INTERFACES.research, context);
    if (!isStreamed) throw createFieldError('X-Svc-SSE', STREAM_ONLY);
    const { wire, unknown } = parseBody(ResearchBody, body, { texts: () => createGenerationTexts(entry), strict });
    const request = decodeResearch(model, wire, entry);
    const isQuestion = request.messages.length === 1;
    context.log.add({ researchStep: isQuestion ? 1 : 2 });
    const batches = openOnFirstRead(() =>
      isQuestion
        ? pipeline.clarify(request, context)
        : runs.open({ request, fingerprint: computeResearchFingerprint(request) }, context),
    );
    const headers = encodeIgnoredHeader([...listIgnoredResearchFields(wire), ...unknown]);
    return createStreamReply(batches, createResearchStreamEncoder({ streamPlan }, context.requestId), headers);
  };

/** Vendor text (docs/wire/dashscope-native.md#errors). */
const STREAM_ONLY = 'This model only support stream mode, please enable the stream parameter to access the model.';
