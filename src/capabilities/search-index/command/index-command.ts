import { Command } from 'commander';
import { ServiceError } from '../../../core/error.ts';
import { parseRegion } from '../../../resources/keys/rules.ts';
import type { SearchIndexHandle } from '../open-search-index.ts';
import type { RefreshReport, RefreshOptions } from '../search-index.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { formatJsonLine } from '../../../commands/format-json-line.ts';
import {
  COLLECTION_COLUMNS,
  createCollectionRow,
  describeOutdated,
  describeProgress,
  describeReport,
  encodeCollection,
} from './describe-index.ts';
import { createIndexSearchCommand } from './index-search-command.ts';
import { formatTable } from '../../../commands/format-table.ts';
import { runUntilInterrupted } from '../../../commands/run-until-interrupted.ts';
import { createTerminalRedraw, type TerminalStream } from '../../../commands/terminal-stream.ts';
import { withResource } from '../../../commands/with-resource.ts';

export interface IndexCommandDeps {
  /**
   * Opens the local index in the configured database. A server may be using the same database.
   * @param flags Options of the command and its parent commands, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<SearchIndexHandle>;
  readonly stdout: { write(text: string): unknown };
  /** Receives progress (on a terminal) and unreadable documents. Standard output contains results only. */
  readonly stderr: TerminalStream;
  /** Replaces Ctrl-C in tests. */
  readonly runUntilStopped?: typeof runUntilInterrupted;
}

/** Creates `parley index`, which manages the local documents of web search. With `--json` it prints one value only. */
export function createIndexCommand(deps: IndexCommandDeps): Command {
  return new Command('index')
    .description('manage and search the local index, which web search uses without a network')
    .addCommand(createAddCommand(deps))
    .addCommand(createListCommand(deps))
    .addCommand(createRefreshCommand(deps))
    .addCommand(createRemoveCommand(deps))
    .addCommand(createIndexSearchCommand(deps));
}

interface AddOptions {
  readonly name?: string;
  readonly domain?: string;
  readonly workspace?: string;
  readonly region?: string;
  readonly background?: true;
  readonly json?: true;
}

const BACKGROUND_OPTION = [
  '--background',
  'end when the documents can be found by words; a running service computes their vectors',
] as const;

function createAddCommand(deps: IndexCommandDeps): Command {
  return new Command('add')
    .description('add documents to the index; run again to update changed documents')
    .argument('<source...>', 'folders, files, URLs, or files that contain one URL per line')
    .option('--name <name>', 'name of the collection (default: the name of the first source)')
    .option('--domain <tag>', 'domain of the collection; only requests with domain search find it')
    .option('--workspace <name>', 'only this workspace finds the collection (default: all)')
    .option('--region <id>', 'only keys of this region find it (default: all; of a workspace, the only configured one)')
    .option(...BACKGROUND_OPTION)
    .option('--json', 'print one JSON object')
    .action(async (sources: readonly string[], { json, region, background, ...options }: AddOptions, command) => {
      const named = region === undefined ? undefined : parseRegion(region);
      await withResource(deps, command, async ({ operator, regions }) => {
        const workspaceRegion = regions.length === 1 ? regions[0] : undefined;
        const request = { ...options, region: named, workspaceRegion, sources };
        const { name, report } = await runWithProgress(deps, background, (refreshOptions) =>
          operator.add(request, refreshOptions),
        );
        printReport(deps, { name, report, json });
      });
    });
}

function createRefreshCommand(deps: IndexCommandDeps): Command {
  return new Command('refresh')
    .description('update a collection from its sources and remove documents that no longer exist')
    .argument('<name>', 'name of the collection')
    .option(...BACKGROUND_OPTION)
    .option('--json', 'print one JSON object')
    .action(async (name: string, { json, background }: Pick<AddOptions, 'json' | 'background'>, command: Command) => {
      await withResource(deps, command, async ({ operator }) => {
        const report = await runWithProgress(deps, background, (refreshOptions) =>
          operator.refresh(name, refreshOptions),
        );
        printReport(deps, { name, report, json });
      });
    });
}

function createListCommand(deps: IndexCommandDeps): Command {
  return new Command('list')
    .description('list collections')
    .option('--json', 'print one JSON array')
    .action(async ({ json }: { readonly json?: true }, command: Command) => {
      await withResource(deps, command, async ({ operator }) => {
        const collections = await operator.list();
        const rows = [COLLECTION_COLUMNS, ...collections.map(createCollectionRow)];
        deps.stdout.write(json ? formatJsonLine(collections.map(encodeCollection)) : formatTable(rows));
        const warning = describeOutdated(collections);
        if (warning !== undefined) deps.stderr.write(`parley: ${warning}\n`);
      });
    });
}

function createRemoveCommand(deps: IndexCommandDeps): Command {
  return new Command('remove')
    .description('remove a collection from the index; its sources are not changed')
    .argument('<name>', 'name of the collection')
    .option('--json', 'print one JSON object')
    .action(async (name: string, { json }: { readonly json?: true }, command: Command) => {
      await withResource(deps, command, async ({ operator }) => {
        const { documents } = await operator.remove(name);
        deps.stdout.write(
          json ? formatJsonLine({ name, removed: documents }) : `${name}: ${documents} documents removed\n`,
        );
      });
    });
}

/** Runs a long operation: shows its progress on a terminal and stops it at Ctrl-C. */
async function runWithProgress<T>(
  { stderr, runUntilStopped = runUntilInterrupted }: IndexCommandDeps,
  leavesVectors: true | undefined,
  work: (watch: RefreshOptions) => Promise<T>,
): Promise<T> {
  const redraw = createTerminalRedraw(stderr);
  const show = (line: string): void => {
    if (stderr.isTTY) stderr.write(redraw(line));
  };
  const message = 'Stopped. The documents read so far are in the index. Run the command again to continue.';
  try {
    return await runUntilStopped(message, (signal) =>
      work({
        signal,
        ...omitNullish({ leavesVectors }),
        onProgress: (progress) => show(`${replaceControlCharacters(describeProgress(progress))}\n`),
      }),
    );
  } finally {
    show('');
  }
}

function printReport(
  { stdout, stderr }: IndexCommandDeps,
  { name, report, json }: { name: string; report: RefreshReport; json: true | undefined },
): void {
  for (const { reference, reason } of report.problems)
    stderr.write(`parley: ${replaceControlCharacters(reference)}: ${replaceControlCharacters(reason)}\n`);
  stdout.write(json ? formatJsonLine({ name, ...report }) : `${name}: ${describeReport(report)}\n`);
  if (report.failed > 0 && report.added + report.changed + report.unchanged === 0)
    throw new ServiceError(
      'not-found',
      `None of the documents of ${name} could be read. The lines above name the reasons.`,
    );
}

/** Replaces control characters, which file names may contain. */
const replaceControlCharacters = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');
