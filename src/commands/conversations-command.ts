import { Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { ConversationEntry, ConversationSelection } from '../resources/conversations/operator.ts';
import { parseRegion } from '../resources/keys/rules.ts';
import type { ConversationsHandle } from '../service/open-components.ts';
import { formatJsonLine } from './format-json-line.ts';
import { withResource } from './with-resource.ts';

export interface ConversationsCommandDeps {
  /**
   * Opens the conversations in the configured database. A server may be using the same database.
   * @param flags Options of the command and its parent commands, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<ConversationsHandle>;
  /** `write` calls `done` when the stream accepts more data. */
  readonly stdout: { write(text: string, done: (error?: Error | null) => void): unknown };
  /** Receives warnings. Standard output contains results only. */
  readonly stderr: { write(text: string): unknown };
}

interface SelectionOptions {
  readonly region?: string;
  readonly workspace?: string;
}

/** Creates `parley conversations`, with which the operator exports and erases stored conversations. */
export function createConversationsCommand(deps: ConversationsCommandDeps): Command {
  return new Command('conversations')
    .description('export and erase stored conversations and responses')
    .addCommand(createExportCommand(deps))
    .addCommand(createEraseCommand(deps));
}

function createExportCommand(deps: ConversationsCommandDeps): Command {
  return new Command('export')
    .description(
      'print one JSON object per line: each conversation followed by its items, then each response followed by its input',
    )
    .argument('[id...]', 'conversations to export (default: all, or those of --workspace and --region)')
    .option('--region <id>', 'export this region only')
    .option('--workspace <name>', 'export this workspace only')
    .action(async (ids: readonly string[], options: SelectionOptions, command: Command) => {
      const selection = parseSelection(ids, options);
      await withResource(deps, command, async ({ conversations }) => {
        for await (const page of conversations.read(selection)) {
          await writeText(deps, page.map((entry) => formatJsonLine(encodeEntry(entry))).join(''));
        }
      });
    });
}

interface EraseOptions extends SelectionOptions {
  readonly yes?: true;
  readonly json?: true;
}

function createEraseCommand(deps: ConversationsCommandDeps): Command {
  return new Command('erase')
    .description('permanently delete conversations and their responses')
    .argument('[id...]', 'conversations to erase, including deleted ones that still have responses')
    .option('--workspace <name>', 'erase all conversations and responses of this workspace')
    .option('--region <id>', 'with --workspace: erase this region only')
    .option('--yes', 'confirm; required to erase a whole workspace')
    .option('--json', 'print one JSON object with the counts')
    .action(async (ids: readonly string[], { yes, json, ...options }: EraseOptions, command: Command) => {
      const selection = parseSelection(ids, options);
      if (!('ids' in selection)) checkErasesWorkspace(options.workspace, yes);
      await withResource(deps, command, async ({ conversations }) => {
        const { running, ...erased } = await conversations.erase(selection);
        for (const id of running) {
          deps.stderr.write(
            `parley: a response is in progress in ${id} and may still be stored; erase the conversation again afterwards\n`,
          );
        }
        const text = `erased ${erased.conversations} conversations and ${erased.responses} responses\n`;
        await writeText(deps, json ? formatJsonLine(erased) : text);
      });
    });
}

function checkErasesWorkspace(workspace: string | undefined, yes: true | undefined): void {
  if (workspace === undefined) {
    throw new ServiceError('invalid-request', 'Nothing is selected. Pass conversation ids, or --workspace.', {
      param: 'id',
    });
  }
  if (yes) return;
  throw new ServiceError(
    'invalid-request',
    `This erases all conversations and responses of the workspace ${JSON.stringify(workspace)} permanently. Confirm with --yes.`,
    { param: 'yes' },
  );
}

/**
 * @throws ServiceError `invalid-request` if ids are combined with a workspace or region: the selection would be
 * ambiguous.
 */
function parseSelection(ids: readonly string[], { region, workspace }: SelectionOptions): ConversationSelection {
  const scope: { region: RegionId | undefined; workspace: string | undefined } = {
    region: region === undefined ? undefined : parseRegion(region),
    workspace,
  };
  if (ids.length === 0) return scope;
  if (region === undefined && workspace === undefined) return { ids };
  throw new ServiceError('invalid-request', 'Conversation ids cannot be combined with --workspace or --region.', {
    param: 'id',
  });
}

/** Waits until the stream has accepted the text: an export may exceed the memory. */
const writeText = ({ stdout }: ConversationsCommandDeps, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });

function encodeEntry(entry: ConversationEntry): object {
  switch (entry.type) {
    case 'conversation': {
      const { id, region, workspace, createdAt, metadata } = entry.conversation;
      const fields = { createdAt: formatTime(createdAt), metadata: Object.fromEntries(metadata) };
      return { type: entry.type, id, region, workspace, ...fields };
    }
    case 'item':
      return { type: entry.type, conversation: entry.conversation, item: JSON.parse(entry.item.json) as unknown };
    case 'response': {
      const { id, region, workspace, createdAt, conversation, previous, json } = entry.response;
      const links = { conversation: conversation?.id ?? null, previous: previous ?? null };
      const response: unknown = JSON.parse(json);
      return { type: entry.type, id, region, workspace, createdAt: formatTime(createdAt), ...links, response };
    }
    case 'input':
      return { type: entry.type, response: entry.response, item: JSON.parse(entry.item.json) as unknown };
  }
}

const formatTime = (ms: number): string => new Date(ms).toISOString();
