import { Command, InvalidArgumentError } from 'commander';
import { PRIMARY_WORKSPACE } from '../resources/keys/rules.ts';
import type { Found } from '../core/server-tools.ts';
import type { SearchIndex } from '../resources/search-index/search.ts';
import { asJson } from './as-json.ts';
import { withOpened } from './with-opened.ts';

export interface IndexSearchCommandNeeds {
  readonly open: (
    flags: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly search: SearchIndex; close(): Promise<void> }>;
  readonly stdout: { write(text: string): unknown };
}

interface SearchOptions {
  readonly workspace: string;
  readonly limit: number;
  readonly days?: number;
  readonly site?: readonly string[];
  readonly without?: readonly string[];
  readonly domains?: true;
  readonly json?: true;
}

/** What a model would be given. */
export function indexSearchCommand(needs: IndexSearchCommandNeeds): Command {
  return new Command('search')
    .description('show what a model would be given from the index')
    .argument('<question...>', 'in words')
    .option('--workspace <name>', 'who asks', PRIMARY_WORKSPACE)
    .option('--limit <count>', 'at most so many documents', wholeFrom(1, 50), 5)
    .option('--days <count>', 'nothing older than this many days', wholeFrom(1, 36_500))
    .option('--site <host...>', 'of these hosts only')
    .option('--without <host...>', 'of these hosts nothing')
    .option('--domains', 'collections of a domain too')
    .option('--json', 'one JSON object')
    .action(async (words: readonly string[], options: SearchOptions, command: Command) => {
      await withOpened(needs, command, async ({ search }) => {
        const query = {
          text: words.join(' '),
          workspace: options.workspace,
          breadth: 'first',
          resultsMax: options.limit,
          withDomains: options.domains === true,
          ...(options.days === undefined ? {} : { freshnessDays: options.days }),
          ...(options.site ? { sites: options.site } : {}),
          ...(options.without ? { blockedSites: options.without } : {}),
        } as const;
        const found = await search(query, new AbortController().signal);
        needs.stdout.write(options.json ? asJson(found) : describeFound(found));
      });
    });
}

function describeFound({ results, findings }: Found): string {
  const told = results.map(({ title, url, siteName, publishedAt, passage }, at) => {
    const facts = [siteName, publishedAt === undefined ? '' : new Date(publishedAt).toISOString().slice(0, 10)];
    const head = `[${at + 1}] ${title}\n    ${[url, ...facts].filter((fact) => fact !== '').join('  ')}`;
    return `${printable(head)}\n${indented(passage)}\n`;
  });
  const domains = findings.map(({ domain, text }) => `(${domain})\n${indented(text)}\n`);
  return [...told, ...domains].join('\n') || 'nothing found\n';
}

const indented = (text: string): string => printable(text.replaceAll(/^/gm, '    '));

/** A document may have anything in it. */
const printable = (text: string): string => text.replaceAll(/(?!\n)\p{Cc}/gu, '\ufffd');

const wholeFrom =
  (min: number, max: number) =>
  (text: string): number => {
    const count = Number(text);
    if (/^\d{1,6}$/.test(text) && count >= min && count <= max) return count;
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}`);
  };
