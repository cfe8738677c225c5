import type { RequestContext } from '../../core/context.ts';
import type { FinishReason, GenerationEvent, Usage } from '../../core/event.ts';
import { TRANSLATION_SEGMENT_TOKENS_MAX } from '../limits.ts';
import { getMessageText } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { createLinkedAbort, type LinkedAbort } from '../../lib/linked-abort.ts';
import type { Generate } from '../generation.ts';
import { countInput, type CountInputDeps } from './count-input.ts';
import type { DetectLanguage } from './detect-language.ts';
import { substituteKnownPieces } from './known-pieces.ts';
import { createTranslationMemory, type TranslationMemory } from './translation-memory.ts';
import { packSegments, type TranslationUnit } from './pack-segments.ts';
import { createPrefetcher, type Prefetcher } from './prefetcher.ts';
import { createTranslationRuns, type TranslationRuns } from './translation-runs.ts';
import { createSummingLog } from './summing-log.ts';
import { splitText, type Piece } from './split-text.ts';
import { createTranslationReport, formatTranslationReport, type TranslationReport } from './translation-report.ts';
import { createTermFinder } from './terms.ts';
import { translateSegment, type SegmentResult } from './translate-segment.ts';
import type { Translate, TranslationOptions } from './translation.ts';
import { createCancelledError } from '../../core/generation-errors.ts';

interface TranslateDeps extends CountInputDeps {
  readonly generate: Generate;
  readonly detectLanguage: DetectLanguage;
}

/**
 * Creates the translation service: one model run per segment of the text, emitted once checked. Resolves when an engine
 * has accepted the first run, so that a refusal gets its HTTP status.
 */
export function createTranslate({ generate, detectLanguage, ...countDeps }: TranslateDeps): Translate {
  return async (translationRequest, on, context) => {
    const { request, options } = translationRequest;
    const text = request.messages.map(getMessageText).join('');
    const tokensPerCharacter = await countInput(translationRequest, text, countDeps, on, context);
    if (!options)
      return {
        ...(await generate(request, on, context)),
        formatTermScore: () => undefined,
        formatReport: () => undefined,
      };

    const source = options.source ?? (await detectLanguage(text));
    const memory = createTranslationMemory(options.memory);
    const stop = createLinkedAbort(context.signal);
    const started = Promise.withResolvers<void>();
    const runContext = { ...context, signal: stop.signal, log: createSummingLog(context.log) };
    const runs = createTranslationRuns(request, {
      generate: (runRequest) => generate(runRequest, on, runContext),
      options,
      source,
      findSimilar: memory.findSimilar,
      onStart: started.resolve,
    });
    const charactersMax = Math.ceil(TRANSLATION_SEGMENT_TOKENS_MAX / tokensPerCharacter);
    const locale = source?.code.split('_')[0] ?? 'und';
    const units = splitUnits(text, memory, () => splitText(text, { locale, charactersMax }), charactersMax);
    const report = createTranslationReport();
    const findTerms = createTermFinder(options.terms);
    const segments = createPrefetcher(
      units.filter(({ type }) => type === 'segment').map((unit) => unit.text),
      {
        // The tokens left for a segment are known only after the segment before it.
        ahead: runs.isLimited ? 0 : SEGMENTS_AHEAD,
        work: (segment) => translateSegment(segment, { source, target: options.target, findTerms, run: runs.run }),
      },
    );
    try {
      if (units.some(({ type }) => type === 'segment')) await Promise.race([started.promise, segments.get(0)]);
      const parts = translateUnits(units, segments, { options, runs, report });
      return {
        batches: createEventStream(parts, { runs, stop, report, context }),
        ignored: [...runs.ignored(), ...findIgnoredFields(request)],
        formatTermScore: () => (options.terms.length > 0 ? `${report.shown}/${report.found}` : undefined),
        formatReport: () => formatTranslationReport(report),
      };
    } catch (error) {
      abortRuns(stop);
      throw error;
    }
  };
}

/** Uses the memory for the whole text when it contains it. */
function splitUnits(
  text: string,
  memory: TranslationMemory,
  split: () => readonly Piece[],
  charactersMax: number,
): readonly TranslationUnit[] {
  const translation = memory.findExact(text);
  if (translation === undefined)
    return packSegments(substituteKnownPieces(split(), memory.findExact), { charactersMax });
  const core = text.trim();
  const start = text.indexOf(core);
  return [
    { type: 'kept', text: text.slice(0, start) },
    { type: 'known', text: core, translation },
    { type: 'kept', text: text.slice(start + core.length) },
  ];
}

/** Cancels all active runs. */
function abortRuns(stop: LinkedAbort): void {
  stop.abort(CANCELLED);
  stop.unlink();
}

/** Segments translated in advance. An engine runs several streams in little more time than one. */
const SEGMENTS_AHEAD = 1;

/** Request fields without effect, because the text is assembled from several answers. */
const findIgnoredFields = ({ stop, logprobs, outputFormat }: GenerationRequest): string[] => [
  ...(stop.strings.length + stop.tokens.length > 0 ? ['stop'] : []),
  ...(logprobs ? ['logprobs'] : []),
  ...(outputFormat ? ['response_format'] : []),
];

interface TranslatedPart {
  readonly text: string;
  readonly reason: FinishReason;
}

/** Yields the translation in parts, each with the unchanged text before it. Ends early at the caller's token limit. */
async function* translateUnits(
  units: readonly TranslationUnit[],
  segments: Prefetcher<SegmentResult>,
  {
    options,
    runs,
    report,
  }: { readonly options: TranslationOptions; readonly runs: TranslationRuns; readonly report: TranslationReport },
): AsyncGenerator<TranslatedPart> {
  let pendingText = '';
  let next = 0;
  let isCut = false;
  let followsTranslation = false;
  for (const unit of units) {
    // Inserts a space between sentences that followed each other without one, if the target script uses spaces.
    const isNext = followsTranslation && options.target.hasSpaces && unit.type !== 'kept' && !unit.continues;
    if (isNext) pendingText += ' ';
    followsTranslation = unit.type !== 'kept';
    if (unit.type === 'kept') pendingText += unit.text;
    else if (unit.type === 'known') pendingText += unit.translation;
    else {
      if (runs.isLimitReached()) {
        yield { text: pendingText, reason: 'length' };
        return;
      }
      const result = await segments.get(next++);
      runs.consumeTokens(result.tokens);
      report.add(result);
      isCut ||= result.isTruncated;
      yield { text: pendingText + result.text, reason: 'stop' };
      pendingText = '';
    }
  }
  yield { text: pendingText, reason: isCut ? 'length' : 'stop' };
}

interface EventDeps {
  readonly runs: TranslationRuns;
  readonly stop: LinkedAbort;
  readonly report: TranslationReport;
  readonly context: RequestContext;
}

/**
 * Creates the event stream: one choice with one block, and a delta per part. `return` aborts the active run at once,
 * even before the first `next`.
 */
function createEventStream(
  parts: AsyncGenerator<TranslatedPart>,
  deps: EventDeps,
): AsyncIterable<readonly GenerationEvent[]> {
  const source = encodeEvents(parts, deps);
  const { stop } = deps;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          const step = await source.next();
          if (step.done) stop.unlink();
          return step;
        } catch (error) {
          abortRuns(stop);
          throw error;
        }
      },
      async return() {
        abortRuns(stop);
        return { done: true, value: undefined };
      },
    }),
  };
}

async function* encodeEvents(
  parts: AsyncGenerator<TranslatedPart>,
  { runs, report, context }: EventDeps,
): AsyncGenerator<readonly GenerationEvent[]> {
  const blockPosition = { choice: 0, index: 0 } as const;
  let reportedUsage: Usage | undefined;
  let reason: FinishReason = 'stop';
  /** Events before the first delta. */
  const createStartEvents = (): readonly GenerationEvent[] => {
    if (reportedUsage) return [];
    const { promptTokens, cachedTokens } = runs.usage();
    return [
      { type: 'start', inputTokens: promptTokens, cachedTokens },
      { type: 'block-start', ...blockPosition, block: { type: 'text' } },
    ];
  };
  for await (const part of parts) {
    reason = part.reason;
    if (part.text === '') continue;
    const usage = runs.usage();
    const tokens = usage.completionTokens - (reportedUsage?.completionTokens ?? 0);
    yield [...createStartEvents(), { type: 'block-delta', ...blockPosition, text: part.text, tokens }];
    reportedUsage = usage;
  }
  const usage = runs.usage();
  context.log.add({
    translationRuns: runs.count(),
    termsFound: report.found,
    termsKept: report.shown,
    ...(report.untranslated > 0 ? { untranslatedSegments: report.untranslated } : {}),
    ...(report.numbers > 0 ? { wrongNumberSegments: report.numbers } : {}),
    ...(report.repeated > 0 ? { repeatedTermSegments: report.repeated } : {}),
  });
  yield [
    ...createStartEvents(),
    { type: 'block-end', ...blockPosition },
    { type: 'choice-end', choice: 0, reason },
    { type: 'end', usage },
  ];
}

const CANCELLED = createCancelledError();
