import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instructionFor } from '../src/generation/translation/instruction.ts';
import { findLanguage } from '../src/generation/translation/languages.ts';
import type { Language } from '../src/generation/translation/languages.ts';
import { wordingPlaces } from '../src/generation/translation/terms.ts';
import type { Term } from '../src/generation/translation/terms.ts';
import { startChild } from './child.ts';
import { BENCH_LANGUAGES, BENCH_SENTENCES } from './translation-sentences.ts';

const SEQUENCES = 4;

/** In `random` each term gets the usual wording of a term this many places further on: a word of the language, and a wrong one. */
const RANDOM_SHIFT = 37;

type SetName = 'none' | 'right' | 'random';

interface Task {
  readonly sentence: string;
  readonly language: Language;
  readonly set: SetName;
  /** What is looked for; what is asked for too, except in the set `none`. */
  readonly terms: readonly Term[];
}

interface Count {
  wanted: number;
  /** Shown by one answer to the instruction. */
  plain: number;
  /** Shown by a verified translation. */
  verified: number;
  /** Missing from one, and reported. */
  reported: number;
  /** Seconds of all verified translations. */
  seconds: number;
}

interface Service {
  readonly url: string;
  readonly key: string;
}

/**
 * How many of 120 terms show their wording, with verification and without it: 60 sentences in three languages.
 * PARLEY_BENCH_SENTENCES takes fewer of them.
 */
export async function translation(modelsFolder: string, note: (text: string) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const child = await startChild('./peers/parley-server.ts', {
    PARLEY_DATA: folder,
    PARLEY_PORT: '0',
    PARLEY_MODELS: modelsFolder,
    PARLEY_ENGINE_SEQUENCES: String(SEQUENCES),
    PARLEY_ENGINE_CONTEXT_TOKENS: '2048',
    PARLEY_ENGINE_THREADS: '1',
    PARLEY_LOG_LEVEL: 'warn',
  });
  try {
    const service = await child.ask<Service>('address');
    const waiting = tasks(Number(process.env['PARLEY_BENCH_SENTENCES'] ?? BENCH_SENTENCES.length));
    const counts = new Map<string, Count>();
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await measure(service, next, countOf(counts, next));
        if (waiting.length % 30 === 0) note(`translation: ${waiting.length} sentences left`);
      }
    };
    await Promise.all(Array.from({ length: SEQUENCES }, worker));
    return tableOf(counts);
  } finally {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function tasks(sentences: number): Task[] {
  const all = BENCH_SENTENCES.flatMap(([, one, other]) => [one, other]);
  return BENCH_LANGUAGES.flatMap((name, at) => {
    const language = findLanguage(name, 'all');
    if (!language) throw new Error(`${name} is not in the table`);
    return (['none', 'right', 'random'] as const).flatMap((set) =>
      BENCH_SENTENCES.slice(0, sentences).map(([sentence], position) => ({
        sentence,
        language,
        set,
        terms: [0, 1].map((which) => {
          const own = position * 2 + which;
          const wording = set === 'random' ? (own + RANDOM_SHIFT) % all.length : own;
          return { source: all[own]?.[0] ?? '', target: all[wording]?.[at + 1] ?? '' };
        }),
      })),
    );
  });
}

function countOf(counts: Map<string, Count>, { set, language }: Task): Count {
  const name = `${set} | ${language.name}`;
  const known = counts.get(name) ?? { wanted: 0, plain: 0, verified: 0, reported: 0, seconds: 0 };
  counts.set(name, known);
  return known;
}

async function measure(service: Service, { sentence, language, set, terms }: Task, count: Count): Promise<void> {
  const shown = (text: string): number =>
    terms.filter((term) => wordingPlaces(text, [term]).get(term.target)?.length).length;
  const given = set === 'none' ? [] : terms;
  const messages = instructionFor({
    source: findLanguage('en', 'all'),
    target: language,
    text: sentence,
    hasMarks: false,
    terms: given,
    hasWordings: false,
    isRepeated: false,
    kept: [],
    examples: [],
    domains: undefined,
  }).map(({ role, content }) => ({ role, content }));
  const plain = await ask(service, { model: 'svc-plus', temperature: 0, repetition_penalty: 1, messages });
  count.wanted += terms.length;
  count.plain += shown(plain.text);
  if (set === 'none') return;

  const started = performance.now();
  const options = { source_lang: 'en', target_lang: language.code, terms };
  const verified = await ask(service, {
    model: 'svc-mt-plus',
    messages: [{ role: 'user', content: sentence }],
    translation_options: options,
  });
  count.seconds += (performance.now() - started) / 1_000;
  count.verified += shown(verified.text);
  const [kept = 0, found = 0] = (verified.terms ?? '').split('/').map(Number);
  count.reported += found - kept;
}

async function ask({ url, key }: Service, body: object): Promise<{ text: string; terms: string | null }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 100, ...body }),
  });
  if (response.status !== 200) throw new Error(`the service answered ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: readonly { message: { content: string } }[] };
  return { text: choices[0]?.message.content ?? '', terms: response.headers.get('x-parley-terms') };
}

function tableOf(counts: ReadonlyMap<string, Count>): string {
  const share = (part: number, whole: number): string => `${part}/${whole} (${Math.round((100 * part) / whole)} %)`;
  const rows = Array.from(counts, ([name, { wanted, plain, verified, reported, seconds }]) =>
    name.startsWith('none')
      ? [name, share(plain, wanted), '', '', '', '']
      : [
          name,
          share(plain, wanted),
          share(verified, wanted),
          String(reported),
          String(wanted - verified - reported),
          ((2 * seconds) / wanted).toFixed(1),
        ],
  );
  const head = [
    'terms | language',
    'one answer',
    'verified',
    'missing, reported',
    'missing, not reported',
    's a sentence',
  ];
  const lines = [head, Array.from({ length: head.length + 1 }, () => '---'), ...rows];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}
