import type { RequestContext } from '../../core/context.ts';
import type { FinishReason, GenerationEvent, Usage } from '../../core/event.ts';
import { ServiceError } from '../../core/error.ts';
import { TRANSLATION_SEGMENT_TOKENS_MAX } from '../../core/limits.ts';
import { textOf } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { LinkedAbort } from '../../lib/linked-abort.ts';
import type { Generate } from '../generation.ts';
import { countInput } from './count-input.ts';
import type { CountNeeds } from './count-input.ts';
import type { DetectLanguage } from './detect-language.ts';
import { withKnownRuns } from './known-runs.ts';
import { createMemory } from './memory.ts';
import type { Memory } from './memory.ts';
import { pack } from './pack.ts';
import type { Unit } from './pack.ts';
import { runAhead } from './run-ahead.ts';
import type { RunAhead } from './run-ahead.ts';
import { createRuns } from './runs.ts';
import type { Runs } from './runs.ts';
import { summedLog } from './summed-log.ts';
import { splitText } from './split-text.ts';
import type { Piece } from './split-text.ts';
import { createTermReport } from './term-report.ts';
import type { TermReport } from './term-report.ts';
import { createTermFinder } from './terms.ts';
import { translateSegment } from './translate-segment.ts';
import type { SegmentResult } from './translate-segment.ts';
import type { Translate, TranslationOptions } from './translation.ts';

interface Needs extends CountNeeds {
  readonly generate: Generate;
  readonly detectLanguage: DetectLanguage;
}

/**
 * Translation over the one pipeline: a run for each segment of the text, told when it was verified. This resolves when an
 * engine has taken the first run in, so that what refuses it has its real status.
 */
export function createTranslate({ generate, detectLanguage, ...counting }: Needs): Translate {
  return async (wish, on, context) => {
    const { request, options } = wish;
    const text = request.messages.map(textOf).join('');
    const tokensPerCharacter = await countInput(wish, text, counting, on, context);
    if (!options) return { ...(await generate(request, on, context)), terms: () => undefined };

    const source = options.source ?? (await detectLanguage(text));
    const memory = createMemory(options.memory);
    const stop = linkedAbort(context.signal);
    const started = Promise.withResolvers<void>();
    const each = { ...context, signal: stop.signal, log: summedLog(context.log) };
    const runs = createRuns(request, {
      generate: (asked) => generate(asked, on, each),
      options,
      source,
      near: memory.near,
      onStart: started.resolve,
    });
    const charactersMax = Math.ceil(TRANSLATION_SEGMENT_TOKENS_MAX / tokensPerCharacter);
    const locale = source?.code.split('_')[0] ?? 'und';
    const units = unitsOf(text, memory, () => splitText(text, { locale, charactersMax }), charactersMax);
    const report = createTermReport();
    const findTerms = createTermFinder(options.terms);
    const segments = runAhead(
      units.filter(({ type }) => type === 'segment').map((unit) => unit.text),
      {
        // What the caller's limit leaves for one segment is known when the one before it is done.
        ahead: runs.isLimited ? 0 : SEGMENTS_AHEAD,
        work: (segment) => translateSegment(segment, { source, target: options.target, findTerms, run: runs.run }),
      },
    );
    try {
      if (units.some(({ type }) => type === 'segment')) await Promise.race([started.promise, segments.at(0)]);
      const parts = translated(units, segments, { options, runs, report });
      return {
        batches: events(parts, { runs, stop, report, context }),
        ignored: [...runs.ignored(), ...unheard(request)],
        terms: () => (options.terms.length > 0 ? `${report.kept}/${report.found}` : undefined),
      };
    } catch (error) {
      end(stop);
      throw error;
    }
  };
}

/** All of the text at once where it is in the memory. */
function unitsOf(text: string, memory: Memory, split: () => readonly Piece[], charactersMax: number): readonly Unit[] {
  const translation = memory.exact(text);
  if (translation === undefined) return pack(withKnownRuns(split(), memory.exact), { charactersMax });
  const core = text.trim();
  const start = text.indexOf(core);
  return [
    { type: 'kept', text: text.slice(0, start) },
    { type: 'known', text: core, translation },
    { type: 'kept', text: text.slice(start + core.length) },
  ];
}

/** Of the runs that are on. */
function end(stop: LinkedAbort): void {
  stop.abort(GONE);
  stop.unlink();
}

/** Ours: segments that are translated beside the one whose turn it is; engines do several streams in little more time than one. */
const SEGMENTS_AHEAD = 1;

/** Wishes that have no place where a text is put together from several answers. */
const unheard = ({ stop, logprobs, outputFormat }: GenerationRequest): string[] => [
  ...(stop.strings.length + stop.tokens.length > 0 ? ['stop'] : []),
  ...(logprobs ? ['logprobs'] : []),
  ...(outputFormat ? ['response_format'] : []),
];

interface Part {
  readonly text: string;
  readonly reason: FinishReason;
}

/** The translation piece by piece, each with what stands before it. Ends early at the caller's token limit. */
async function* translated(
  units: readonly Unit[],
  segments: RunAhead<SegmentResult>,
  { options, runs, report }: { readonly options: TranslationOptions; readonly runs: Runs; readonly report: TermReport },
): AsyncGenerator<Part> {
  let waiting = '';
  let next = 0;
  let isCut = false;
  let isOpen = false;
  for (const unit of units) {
    // Between sentences that followed each other without a blank there is one where the target's writing has blanks.
    const isNext = isOpen && options.target.hasSpaces && unit.type !== 'kept' && !unit.continues;
    if (isNext) waiting += ' ';
    isOpen = unit.type !== 'kept';
    if (unit.type === 'kept') waiting += unit.text;
    else if (unit.type === 'known') waiting += unit.translation;
    else {
      if (runs.isSpent()) {
        yield { text: waiting, reason: 'length' };
        return;
      }
      const result = await segments.at(next++);
      runs.spend(result.tokens);
      report.add(result);
      isCut ||= result.isCut;
      yield { text: waiting + result.text, reason: 'stop' };
      waiting = '';
    }
  }
  yield { text: waiting, reason: isCut ? 'length' : 'stop' };
}

interface EventNeeds {
  readonly runs: Runs;
  readonly stop: LinkedAbort;
  readonly report: TermReport;
  readonly context: RequestContext;
}

/**
 * The events of one choice with one block, a delta for each part. `return` works at once, also before the first `next`:
 * it aborts the run that is on.
 */
function events(parts: AsyncGenerator<Part>, needs: EventNeeds): AsyncIterable<readonly GenerationEvent[]> {
  const source = told(parts, needs);
  const { stop } = needs;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          const step = await source.next();
          if (step.done) stop.unlink();
          return step;
        } catch (error) {
          end(stop);
          throw error;
        }
      },
      async return() {
        end(stop);
        return { done: true, value: undefined };
      },
    }),
  };
}

async function* told(
  parts: AsyncGenerator<Part>,
  { runs, report, context }: EventNeeds,
): AsyncGenerator<readonly GenerationEvent[]> {
  const place = { choice: 0, index: 0 } as const;
  let before: Usage | undefined;
  let reason: FinishReason = 'stop';
  /** What comes before the first delta. */
  const head = (): readonly GenerationEvent[] => {
    if (before) return [];
    const { promptTokens, cachedTokens } = runs.usage();
    return [
      { type: 'start', inputTokens: promptTokens, cachedTokens },
      { type: 'block-start', ...place, block: { type: 'text' } },
    ];
  };
  for await (const part of parts) {
    reason = part.reason;
    if (part.text === '') continue;
    const usage = runs.usage();
    const tokens = usage.completionTokens - (before?.completionTokens ?? 0);
    yield [...head(), { type: 'block-delta', ...place, text: part.text, tokens }];
    before = usage;
  }
  const usage = runs.usage();
  context.log.add({
    translationRuns: runs.count(),
    termsFound: report.found,
    termsKept: report.kept,
    ...(report.untranslated > 0 ? { untranslatedSegments: report.untranslated } : {}),
  });
  yield [...head(), { type: 'block-end', ...place }, { type: 'choice-end', choice: 0, reason }, { type: 'end', usage }];
}

const GONE = new ServiceError('cancelled', 'The request was cancelled.');
