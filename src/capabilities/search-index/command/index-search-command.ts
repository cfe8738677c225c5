import { Command, InvalidArgumentError } from 'commander';
import { parseRegion, PRIMARY_WORKSPACE } from '../../../resources/keys/rules.ts';
import { DEFAULT_REGION, type RegionId } from '../../../core/region.ts';
import type { SearchResults } from '../../../core/server-tools.ts';
import type { SearchIndex } from '../search.ts';
import { formatJsonLine } from '../../../commands/format-json-line.ts';
import { withResource } from '../../../commands/with-resource.ts';

export interface IndexSearchCommandDeps {
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<{
    readonly search: SearchIndex;
    readonly regions: readonly RegionId[];
    close(): Promise<void>;
  }>;
  readonly stdout: { write(text: string): unknown };
}

interface IndexSearchOptions {
  readonly workspace: string;
  readonly region?: string;
  readonly limit: number;
  readonly days?: number;
  readonly site?: readonly string[];
  readonly without?: readonly string[];
  readonly domains?: true;
  readonly json?: true;
}

/** Creates `parley index search`, which prints what a model would get. */
export function createIndexSearchCommand(deps: IndexSearchCommandDeps): Command {
  return new Command('search')
    .description('print the search results that a model would get from the index')
    .argument('<question...>', 'question in natural language')
    .option('--workspace <name>', 'workspace that searches', PRIMARY_WORKSPACE)
    .option('--region <id>', 'region of that workspace (default: the first configured one)')
    .option('--limit <count>', 'maximum number of documents', createIntegerParser(1, 50), 5)
    .option('--days <count>', 'only documents of the last N days', createIntegerParser(1, 36_500))
    .option('--site <host...>', 'only documents of these hosts')
    .option('--without <host...>', 'no documents of these hosts')
    .option('--domains', 'also search collections with a domain')
    .option('--json', 'print one JSON object')
    .action(async (words: readonly string[], options: IndexSearchOptions, command: Command) => {
      const named = options.region === undefined ? undefined : parseRegion(options.region);
      await withResource(deps, command, async ({ search, regions: [first = DEFAULT_REGION] }) => {
        const query = {
          text: words.join(' '),
          tenant: { region: named ?? first, workspace: options.workspace },
          breadth: 'first',
          resultsMax: options.limit,
          usesDomainProviders: options.domains === true,
          ...(options.days === undefined ? {} : { freshnessDays: options.days }),
          ...(options.site ? { sites: options.site } : {}),
          ...(options.without ? { blockedSites: options.without } : {}),
        } as const;
        const searchResults = await search(query, new AbortController().signal);
        deps.stdout.write(options.json ? formatJsonLine(searchResults) : formatSearchResults(searchResults));
      });
    });
}

function formatSearchResults({ results, findings }: SearchResults): string {
  const documents = results.map(({ title, url, siteName, publishedAt, passage }, at) => {
    const details = [siteName, publishedAt === undefined ? '' : new Date(publishedAt).toISOString().slice(0, 10)];
    const heading = `[${at + 1}] ${title}\n    ${[url, ...details].filter((fact) => fact !== '').join('  ')}`;
    return `${replaceControlCharacters(heading)}\n${indentText(passage)}\n`;
  });
  const domains = findings.map(({ domain, text }) => `(${domain})\n${indentText(text)}\n`);
  return [...documents, ...domains].join('\n') || 'no documents found\n';
}

const indentText = (text: string): string => replaceControlCharacters(text.replaceAll(/^/gm, '    '));

/** Replaces control characters other than line breaks, which documents may contain. */
const replaceControlCharacters = (text: string): string => text.replaceAll(/(?!\n)\p{Cc}/gu, '\ufffd');

const createIntegerParser =
  (min: number, max: number) =>
  (text: string): number => {
    const count = Number(text);
    if (/^\d{1,6}$/.test(text) && count >= min && count <= max) return count;
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}`);
  };
