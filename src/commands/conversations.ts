import { Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { ConversationsOperator, Kept, Selection } from '../resources/conversations/operator.ts';
import { parseRegion } from '../resources/keys/rules.ts';
import { asJson } from './as-json.ts';
import { withOpened } from './with-opened.ts';

export interface OpenConversations {
  readonly conversations: ConversationsOperator;
  close(): Promise<void>;
}

export interface ConversationsCommandNeeds {
  /**
   * Opens the conversations of the effective configuration; a server may be running on the same database.
   * @param flags Options of the command and of those above it, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<OpenConversations>;
  /** Calls back when it can take more. */
  readonly stdout: { write(text: string, done: (error?: Error | null) => void): unknown };
  /** Warnings go here: standard output holds results only. */
  readonly stderr: { write(text: string): unknown };
}

interface SelectionOptions {
  readonly region?: string;
  readonly workspace?: string;
}

/** `parley conversations`: what is kept of callers, for its operator. */
export function conversationsCommand(needs: ConversationsCommandNeeds): Command {
  return new Command('conversations')
    .description('export and erase what is kept of conversations and responses')
    .addCommand(exportCommand(needs))
    .addCommand(eraseCommand(needs));
}

function exportCommand(needs: ConversationsCommandNeeds): Command {
  return new Command('export')
    .description(
      'one JSON object per line: conversations, each before its items, then responses, each before its input',
    )
    .argument('[id...]', 'of conversations; without, everything of the workspace and region, or all there is')
    .option('--region <id>', 'of this region only')
    .option('--workspace <name>', 'of this workspace only')
    .action(async (ids: readonly string[], options: SelectionOptions, command: Command) => {
      const selection = selectionOf(ids, options);
      await withOpened(needs, command, async ({ conversations }) => {
        for await (const page of conversations.read(selection)) {
          await print(needs, page.map((kept) => asJson(encode(kept))).join(''));
        }
      });
    });
}

interface EraseOptions extends SelectionOptions {
  readonly yes?: true;
  readonly json?: true;
}

function eraseCommand(needs: ConversationsCommandNeeds): Command {
  return new Command('erase')
    .description('delete conversations for good, with the responses made in them')
    .argument('[id...]', 'of conversations, also of deleted ones that responses were made in')
    .option('--workspace <name>', 'all conversations and all responses of this workspace')
    .option('--region <id>', 'of the workspace, in this region only')
    .option('--yes', 'do so without asking; needed for a whole workspace')
    .option('--json', 'one JSON object with the numbers')
    .action(async (ids: readonly string[], { yes, json, ...options }: EraseOptions, command: Command) => {
      const selection = selectionOf(ids, options);
      if (!('ids' in selection)) checkWorkspace(options.workspace, yes);
      await withOpened(needs, command, async ({ conversations }) => {
        const { running, ...erased } = await conversations.erase(selection);
        for (const id of running) {
          needs.stderr.write(
            `parley: ${id} was being answered: that answer may leave a response; erase it again then\n`,
          );
        }
        const text = `erased ${erased.conversations} conversations and ${erased.responses} responses\n`;
        await print(needs, json ? asJson(erased) : text);
      });
    });
}

function checkWorkspace(workspace: string | undefined, yes: true | undefined): void {
  if (workspace === undefined) {
    throw new ServiceError('invalid-request', 'Say which: ids of conversations, or --workspace.', { param: 'id' });
  }
  if (yes) return;
  throw new ServiceError(
    'invalid-request',
    `This erases all conversations and responses of the workspace ${JSON.stringify(workspace)} for good: say --yes.`,
    { param: 'yes' },
  );
}

/** @throws ServiceError `invalid-request` where both are given: either would take more or less than was meant. */
function selectionOf(ids: readonly string[], { region, workspace }: SelectionOptions): Selection {
  const place: { region: RegionId | undefined; workspace: string | undefined } = {
    region: region === undefined ? undefined : parseRegion(region),
    workspace,
  };
  if (ids.length === 0) return place;
  if (region === undefined && workspace === undefined) return { ids };
  throw new ServiceError('invalid-request', 'Ids stand alone, without --workspace and --region.', { param: 'id' });
}

/** Waits until it is taken: what is exported may be more than memory holds. */
const print = ({ stdout }: ConversationsCommandNeeds, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });

function encode(kept: Kept): object {
  switch (kept.type) {
    case 'conversation': {
      const { id, region, workspace, createdAt, metadata } = kept.conversation;
      const told = { createdAt: iso(createdAt), metadata: Object.fromEntries(metadata) };
      return { type: kept.type, id, region, workspace, ...told };
    }
    case 'item':
      return { type: kept.type, conversation: kept.conversation, item: JSON.parse(kept.item.json) as unknown };
    case 'response': {
      const { id, region, workspace, createdAt, conversation, previous, json } = kept.response;
      const from = { conversation: conversation?.id ?? null, previous: previous ?? null };
      const response: unknown = JSON.parse(json);
      return { type: kept.type, id, region, workspace, createdAt: iso(createdAt), ...from, response };
    }
    case 'input':
      return { type: kept.type, response: kept.response, item: JSON.parse(kept.item.json) as unknown };
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();
