import { createInstruction } from '../src/generation/translation/create-instruction.ts';
import { findLanguage } from '../src/generation/translation/languages.ts';
import type { Language } from '../src/generation/translation/languages.ts';
import { findWordingRanges } from '../src/generation/translation/terms.ts';
import type { Term } from '../src/generation/translation/terms.ts';
import { createEngineEnv, requestService, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';
import { BENCH_LANGUAGES, BENCH_SENTENCES } from './translation-sentences.ts';

const SEQUENCES = 4;

/** In the set `random` each term gets the wording of the term this many positions later: a real but wrong word. */
const RANDOM_SHIFT = 37;

type TermSet = 'none' | 'right' | 'random';

interface TranslationTask {
  readonly sentence: string;
  readonly language: Language;
  readonly set: TermSet;
  /** Terms whose wordings are counted. The request contains them too, except in the set `none`. */
  readonly terms: readonly Term[];
}

interface TermCount {
  expected: number;
  /** Terms shown by a single answer to the instruction. */
  shownPlain: number;
  /** Terms shown by a verified translation. */
  shownVerified: number;
  /** Terms missing from a verified translation and reported as missing. */
  reportedMissing: number;
  /** Total time of all verified translations, in seconds. */
  verifiedSeconds: number;
}

/**
 * Counts how many of 120 terms show their wording, with and without verification: 60 sentences in three languages.
 * PARLEY_BENCH_SENTENCES limits the number of sentences.
 */
export const measureTranslation = (modelsFolder: string, logProgress: (text: string) => void): Promise<string> =>
  withParley(createEngineEnv(modelsFolder, { sequences: SEQUENCES, contextTokens: 2048 }), async (service) => {
    const queue = createTasks(Number(process.env['PARLEY_BENCH_SENTENCES'] ?? BENCH_SENTENCES.length));
    const counts = new Map<string, TermCount>();
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        await measureTask(service, next, getCount(counts, next));
        if (queue.length % 30 === 0) logProgress(`translation: ${queue.length} sentences left`);
      }
    };
    await Promise.all(Array.from({ length: SEQUENCES }, worker));
    return formatCounts(counts);
  });

function createTasks(sentences: number): TranslationTask[] {
  const all = BENCH_SENTENCES.flatMap(([, one, other]) => [one, other]);
  return BENCH_LANGUAGES.flatMap((name, at) => {
    const language = findLanguage(name, 'all');
    if (!language) throw new Error(`unknown language ${name}`);
    return (['none', 'right', 'random'] as const).flatMap((set) =>
      BENCH_SENTENCES.slice(0, sentences).map(([sentence], position) => ({
        sentence,
        language,
        set,
        terms: [0, 1].map((which) => {
          const termIndex = position * 2 + which;
          const wordingIndex = set === 'random' ? (termIndex + RANDOM_SHIFT) % all.length : termIndex;
          return { source: all[termIndex]?.[0] ?? '', target: all[wordingIndex]?.[at + 1] ?? '' };
        }),
      })),
    );
  });
}

function getCount(counts: Map<string, TermCount>, { set, language }: TranslationTask): TermCount {
  const name = `${set} | ${language.name}`;
  const count = counts.get(name) ?? {
    expected: 0,
    shownPlain: 0,
    shownVerified: 0,
    reportedMissing: 0,
    verifiedSeconds: 0,
  };
  counts.set(name, count);
  return count;
}

async function measureTask(
  service: BenchService,
  { sentence, language, set, terms }: TranslationTask,
  count: TermCount,
): Promise<void> {
  const countShownTerms = (text: string): number =>
    terms.filter((term) => findWordingRanges(text, [term]).get(term.target)?.length).length;
  const requestedTerms = set === 'none' ? [] : terms;
  const messages = createInstruction({
    source: findLanguage('en', 'all'),
    target: language,
    text: sentence,
    hasMarks: false,
    terms: requestedTerms,
    hasWordings: false,
    isRetry: false,
    corrections: [],
    keptWords: [],
    examples: [],
    domains: undefined,
  }).map(({ role, content }) => ({ role, content }));
  const singleAnswer = await complete(service, { model: 'svc-plus', temperature: 0, repetition_penalty: 1, messages });
  count.expected += terms.length;
  count.shownPlain += countShownTerms(singleAnswer.text);
  if (set === 'none') return;

  const started = performance.now();
  const options = { source_lang: 'en', target_lang: language.code, terms };
  const verified = await complete(service, {
    model: 'svc-mt-plus',
    messages: [{ role: 'user', content: sentence }],
    translation_options: options,
  });
  count.verifiedSeconds += (performance.now() - started) / 1_000;
  count.shownVerified += countShownTerms(verified.text);
  const [shown = 0, found = 0] = (verified.terms ?? '').split('/').map(Number);
  count.reportedMissing += found - shown;
}

async function complete(service: BenchService, body: object): Promise<{ text: string; terms: string | null }> {
  const response = await requestService(service, '/v1/chat/completions', { json: { max_tokens: 100, ...body } });
  const { choices } = (await response.json()) as { choices: readonly { message: { content: string } }[] };
  return { text: choices[0]?.message.content ?? '', terms: response.headers.get('x-parley-terms') };
}

function formatCounts(counts: ReadonlyMap<string, TermCount>): string {
  const formatShare = (part: number, whole: number): string =>
    `${part}/${whole} (${Math.round((100 * part) / whole)} %)`;
  const rows = Array.from(counts, ([name, { expected, shownPlain, shownVerified, reportedMissing, verifiedSeconds }]) =>
    name.startsWith('none')
      ? [name, formatShare(shownPlain, expected), '', '', '', '']
      : [
          name,
          formatShare(shownPlain, expected),
          formatShare(shownVerified, expected),
          String(reportedMissing),
          String(expected - shownVerified - reportedMissing),
          ((2 * verifiedSeconds) / expected).toFixed(1),
        ],
  );
  const head = [
    'terms | language',
    'single answer',
    'verified',
    'missing, reported',
    'missing, not reported',
    's per sentence',
  ];
  const lines = [head, Array.from({ length: head.length + 1 }, () => '---'), ...rows];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}
