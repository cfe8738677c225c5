import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withTemporaryFolder } from '../../../../bench/bench-service.ts';
import { getEnginesFolder } from '../../../../test/models-folder.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { DEFAULT_REGION } from '../../../core/region.ts';
import { openSearchIndex } from '../open-search-index.ts';
import type { SearchIndex } from '../search.ts';
import { openQuestionCorpus } from './question-corpus.ts';
import { QUESTION_CORPORA, type QuestionCorpus, type SearchQuestion } from './search-questions.ts';

type Environment = Readonly<Record<string, string>>;

const CLI = fileURLToPath(new URL('../../../cli.ts', import.meta.url));

/**
 * Indexes documentation packages and searches them with questions whose pages are known: by words alone, then with
 * vectors. Measures how fast the pages are indexed, and how often the right page is the first, or among the first three.
 */
export async function measureSearchTruth(modelsFolder: string, logProgress: (text: string) => void): Promise<string> {
  const lines = [
    '| pages | indexed | found by | first, of those for tuning | first, of those for judging | in the top 3, tuning | judging |',
    '|---|---|---|---|---|---|---|',
  ];
  for (const corpus of QUESTION_CORPORA) {
    const pages = await openQuestionCorpus(corpus);
    await withTemporaryFolder(async (folder) => {
      const env = { PARLEY_DATA: folder, PARLEY_HUB_URL: 'off', PARLEY_ENGINE_THREADS: '1' };
      const withoutModels = { ...env, PARLEY_MODELS_FOLDER: join(folder, 'none') };
      logProgress(`${corpus.packageName}: indexes the pages`);
      const words = await addPages(withoutModels, pages);
      lines.push(await describeRanking(corpus, withoutModels, { indexed: words, foundBy: 'words' }));
      logProgress(`${corpus.packageName}: computes vectors`);
      const withModels = {
        ...env,
        PARLEY_MODELS_FOLDER: modelsFolder,
        PARLEY_ENGINES_FOLDER: getEnginesFolder(),
      };
      const vectors = await addPages(withModels, pages);
      lines.push(await describeRanking(corpus, withModels, { indexed: vectors, foundBy: 'words and vectors' }));
    });
  }
  return lines.join('\n');
}

/** Adds pages with `parley index add` and returns how many of them it read or embedded per second of time and of work. */
async function addPages(env: Environment, pages: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    'bash',
    [
      '-c',
      'time "$@"',
      '',
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      CLI,
      'index',
      'add',
      pages,
      '--json',
    ],
    { env: { ...process.env, ...env, TIMEFORMAT: '%R %U %S' }, maxBuffer: 64 * 1024 * 1024 },
  );
  const report = JSON.parse(stdout) as { readonly added: number; readonly vectors: number };
  if (report.added + report.vectors === 0)
    throw new Error('No vectors were computed: install the weights and the engine of svc-embed.');
  const [seconds = 0, user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  const count = report.added === 0 ? report.vectors : report.added;
  const what = report.added === 0 ? 'embedded' : 'read';
  return `${count} ${what} in ${seconds.toFixed(0)} s; ${(count / (user + system)).toFixed(1)} per CPU second`;
}

async function describeRanking(
  { packageName, questions }: QuestionCorpus,
  env: Environment,
  { indexed, foundBy }: { readonly indexed: string; readonly foundBy: string },
): Promise<string> {
  const { config } = loadConfig({ env });
  const log = { warn: (message: string) => void process.stderr.write(`  ${message}\n`) };
  const index = await openSearchIndex(config, { environment: env, log, capabilities: [] });
  try {
    const ranks: number[] = [];
    for (const question of questions) ranks.push(await findRank(index.search, question));
    const halves = [0, 1].map((half) => ranks.filter((_, at) => at % 2 === half));
    const count = (rankMax: number) =>
      halves.map((half) => `${half.filter((rank) => rank <= rankMax).length} of ${half.length}`);
    return `| ${[packageName, indexed, foundBy, ...count(1), ...count(3)].join(' | ')} |`;
  } finally {
    await index.close();
  }
}

/** Returns the rank of the first page that answers the question, from 1; Infinity if none of ten does. */
async function findRank(search: SearchIndex, [text, ...pages]: SearchQuestion): Promise<number> {
  const tenant = { region: DEFAULT_REGION, workspace: 'primary' };
  const query = { text, tenant, breadth: 'first', resultsMax: 10, usesDomainProviders: false } as const;
  const { results } = await search(query, new AbortController().signal);
  const at = results.findIndex(({ url }) => pages.some((page) => url.endsWith(`/${page}.html`)));
  return at < 0 ? Infinity : at + 1;
}
