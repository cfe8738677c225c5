import { Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import type { RefreshReport, RefreshWatch, SearchIndexOperator } from '../resources/search-index/search-index.ts';
import type { SearchIndex } from '../resources/search-index/search.ts';
import { asJson } from './as-json.ts';
import { COLLECTION_HEAD, collectionRow, describeReport, encodeCollection } from './describe-index.ts';
import { indexSearchCommand } from './index-search.ts';
import { table } from './table.ts';
import { untilInterrupted } from './until-interrupted.ts';
import { createRedraw, type WatchStream } from './watch.ts';
import { withOpened } from './with-opened.ts';

export interface OpenIndex {
  readonly operator: SearchIndexOperator;
  readonly search: SearchIndex;
  close(): Promise<void>;
}

export interface IndexCommandNeeds {
  /**
   * Opens the local index of the effective configuration; a server may be running on the same database.
   * @param flags Options of the command and of those above it, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<OpenIndex>;
  readonly stdout: { write(text: string): unknown };
  /** How far it is, on a terminal, and what could not be read: standard output holds results only. */
  readonly stderr: WatchStream;
  /** What ends a refresh, if not Ctrl-C. */
  readonly untilStopped?: typeof untilInterrupted;
}

/** `parley index`: the documents that are found without any network. Scripts read `--json`: one value and nothing else. */
export function indexCommand(needs: IndexCommandNeeds): Command {
  return new Command('index')
    .description('fill and ask the local index, which web search finds without any network')
    .addCommand(addCommand(needs))
    .addCommand(listCommand(needs))
    .addCommand(refreshCommand(needs))
    .addCommand(removeCommand(needs))
    .addCommand(indexSearchCommand(needs));
}

interface AddOptions {
  readonly name?: string;
  readonly domain?: string;
  readonly workspace?: string;
  readonly json?: true;
}

function addCommand(needs: IndexCommandNeeds): Command {
  return new Command('add')
    .description('read documents into the index; again: read what has changed')
    .argument('<source...>', 'folders, files, addresses, or files that hold addresses alone, one a line')
    .option('--name <name>', 'of the collection (default: what the first source is called)')
    .option('--domain <tag>', 'found only by requests that ask for domains, and told apart by this word')
    .option('--workspace <name>', 'found by this workspace alone (default: by all)')
    .option('--json', 'one JSON object')
    .action(async (sources: readonly string[], { json, ...wish }: AddOptions, command: Command) => {
      await withOpened(needs, command, async ({ operator }) => {
        const { name, report } = await watched(needs, (watch) => operator.add({ ...wish, sources }, watch));
        tell(needs, { name, report, json });
      });
    });
}

function refreshCommand(needs: IndexCommandNeeds): Command {
  return new Command('refresh')
    .description('read what has changed in the sources of a collection, and forget what has vanished')
    .argument('<name>', 'as in the list')
    .option('--json', 'one JSON object')
    .action(async (name: string, { json }: { readonly json?: true }, command: Command) => {
      await withOpened(needs, command, async ({ operator }) => {
        const report = await watched(needs, (watch) => operator.refresh(name, watch));
        tell(needs, { name, report, json });
      });
    });
}

function listCommand(needs: IndexCommandNeeds): Command {
  return new Command('list')
    .description('list collections')
    .option('--json', 'one JSON list')
    .action(async ({ json }: { readonly json?: true }, command: Command) => {
      await withOpened(needs, command, async ({ operator }) => {
        const collections = await operator.list();
        const rows = [COLLECTION_HEAD, ...collections.map(collectionRow)];
        needs.stdout.write(json ? asJson(collections.map(encodeCollection)) : table(rows));
      });
    });
}

function removeCommand(needs: IndexCommandNeeds): Command {
  return new Command('remove')
    .description('forget a collection; its sources stay as they are')
    .argument('<name>', 'as in the list')
    .option('--json', 'one JSON object')
    .action(async (name: string, { json }: { readonly json?: true }, command: Command) => {
      await withOpened(needs, command, async ({ operator }) => {
        const { documents } = await operator.remove(name);
        needs.stdout.write(json ? asJson({ name, removed: documents }) : `${name}: ${documents} documents forgotten\n`);
      });
    });
}

/** Runs what takes its time: it shows how far it is on a terminal, and Ctrl-C ends it. */
async function watched<T>(
  { stderr, untilStopped = untilInterrupted }: IndexCommandNeeds,
  work: (watch: RefreshWatch) => Promise<T>,
): Promise<T> {
  const redraw = createRedraw(stderr);
  const show = (line: string): void => {
    if (stderr.isTTY) stderr.write(redraw(line));
  };
  const message = 'Stopped. What was read until now is in the index; the same command goes on from there.';
  try {
    return await untilStopped(message, (signal) =>
      work({
        signal,
        onProgress: ({ step, done, reference }) =>
          show(`${step === 'reading' ? `${done} read` : `${done} with vectors`}: ${printable(reference)}\n`),
      }),
    );
  } finally {
    show('');
  }
}

function tell(
  { stdout, stderr }: IndexCommandNeeds,
  { name, report, json }: { name: string; report: RefreshReport; json: true | undefined },
): void {
  for (const { reference, reason } of report.problems)
    stderr.write(`parley: ${printable(reference)}: ${printable(reason)}\n`);
  stdout.write(json ? asJson({ name, ...report }) : `${name}: ${describeReport(report)}\n`);
  if (report.failed > 0 && report.added + report.changed + report.unchanged === 0)
    throw new ServiceError('not-found', `Nothing of ${name} could be read.`);
}

/** A name of a file may have anything in it. */
const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');
