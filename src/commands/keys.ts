import { Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import type { KeyRecord } from '../core/key.ts';
import type { RegionId } from '../core/region.ts';
import type { Clock } from '../lib/clock.ts';
import type { Keys, NewKey } from '../resources/keys/key.ts';
import { parseExpiry, parseRegion, PRIMARY_WORKSPACE, stateOf } from '../resources/keys/rules.ts';
import { asJson } from './as-json.ts';
import { withOpened } from './with-opened.ts';

export interface OpenKeys {
  readonly keys: Keys;
  /** The configured regions, in order: where there is one, it needs no naming. */
  readonly regions: readonly RegionId[];
  close(): Promise<void>;
}

export interface KeysCommandNeeds {
  /**
   * Opens the keys of the effective configuration; a server may be running on the same database.
   * @param flags Options of the command and of those above it, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<OpenKeys>;
  readonly clock: Clock;
  readonly stdout: { write(text: string): unknown };
  /** Warnings go here: standard output holds results only. */
  readonly stderr: { write(text: string): unknown };
}

/** `parley keys`. Scripts read `--json`: one value on standard output and nothing else. */
export function keysCommand(needs: KeysCommandNeeds): Command {
  return new Command('keys')
    .description('make and revoke the keys that callers use')
    .addCommand(createCommand(needs))
    .addCommand(listCommand(needs))
    .addCommand(revokeCommand(needs))
    .addCommand(rotateCommand(needs));
}

interface CreateOptions {
  readonly region?: string;
  readonly workspace: string;
  readonly name: string;
  readonly expires?: string;
  readonly json?: true;
}

function createCommand(needs: KeysCommandNeeds): Command {
  return new Command('create')
    .description('make a key; its secret is shown this once')
    .option('--region <id>', 'region that the key works in (default: the configured one, where there is one only)')
    .option('--workspace <name>', 'workspace of the key; a new name makes a new workspace', PRIMARY_WORKSPACE)
    .option('--name <text>', 'a word for it, for lists', '')
    .option('--expires <when>', 'after which it is refused: 30d, 12h, 2027-01-31 (midnight UTC), 2027-01-31T10:00Z')
    .option('--json', 'one JSON object with id and key')
    .action(async ({ region, workspace, name, expires, json }: CreateOptions, command: Command) => {
      // What can be refused without the database is refused before it is opened, and perhaps made.
      const wanted = region === undefined ? undefined : parseRegion(region);
      const expiresAt = expires === undefined ? undefined : parseExpiry(expires, needs.clock.now());
      await withOpened(needs, command, async ({ keys, regions }) => {
        const key = await keys.create({ region: wanted ?? onlyOf(regions), workspace, name, expiresAt });
        if (wanted && !regions.includes(wanted)) {
          const there = regions.join(', ');
          needs.stderr.write(`parley: the region ${wanted} is not configured here (${there}): the key waits for it\n`);
        }
        needs.stdout.write(json ? asJson(encodeNew(key, needs.clock)) : describeNew(key, needs.clock));
      });
    });
}

interface ListOptions {
  readonly region?: string;
  readonly workspace?: string;
  readonly json?: true;
}

function listCommand(needs: KeysCommandNeeds): Command {
  return new Command('list')
    .description('list keys, without their secrets, the oldest first')
    .option('--region <id>', 'of this region only')
    .option('--workspace <name>', 'of this workspace only')
    .option('--json', 'one JSON list')
    .action(async ({ region, workspace, json }: ListOptions, command: Command) => {
      const filter = { region: region === undefined ? undefined : parseRegion(region), workspace };
      await withOpened(needs, command, async ({ keys }) => {
        const records: KeyRecord[] = [];
        for (let page = await keys.list(filter); page.length > 0;) {
          records.push(...page);
          page = await keys.list({ ...filter, after: page.at(-1)?.id });
        }
        needs.stdout.write(
          json ? asJson(records.map((record) => encode(record, needs.clock))) : describeList(records, needs.clock),
        );
      });
    });
}

function revokeCommand(needs: KeysCommandNeeds): Command {
  return new Command('revoke')
    .description('refuse a key from now on; running servers follow within 5 s')
    .argument('<id>', 'as in the list')
    .option('--json', 'one JSON object')
    .action(async (id: string, { json }: { readonly json?: true }, command: Command) => {
      await withOpened(needs, command, async ({ keys }) => {
        const record = await keys.revoke(id);
        needs.stdout.write(json ? asJson(encode(record, needs.clock)) : `${record.id} is revoked\n`);
      });
    });
}

function rotateCommand(needs: KeysCommandNeeds): Command {
  return new Command('rotate')
    .description('make a new key like the given one, and revoke that')
    .argument('<id>', 'as in the list')
    .option('--json', 'one JSON object with id and key of the new one')
    .action(async (id: string, { json }: { readonly json?: true }, command: Command) => {
      await withOpened(needs, command, async ({ keys }) => {
        const key = await keys.rotate(id);
        needs.stdout.write(json ? asJson(encodeNew(key, needs.clock)) : describeNew(key, needs.clock));
      });
    });
}

function onlyOf(regions: readonly RegionId[]): RegionId {
  const [only, ...others] = regions;
  if (only !== undefined && others.length === 0) return only;
  throw new ServiceError('invalid-request', `Several regions are configured: say --region ${regions.join(' or ')}.`, {
    param: 'region',
  });
}

const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

const encode = (record: KeyRecord, clock: Clock) => ({
  id: record.id,
  region: record.region,
  workspace: record.workspace,
  name: record.name,
  hint: record.hint,
  state: stateOf(record, clock.now()),
  createdAt: iso(record.createdAt),
  expiresAt: iso(record.expiresAt),
  revokedAt: iso(record.revokedAt),
});

const encodeNew = ({ secret, record }: NewKey, clock: Clock) => ({ ...encode(record, clock), key: secret });

const describeNew = ({ secret, record }: NewKey, clock: Clock): string =>
  `${describeList([record], clock)}\n${secret}\n\nThis is the only time the key is shown.\n`;

function describeList(records: readonly KeyRecord[], clock: Clock): string {
  const rows = [
    ['ID', 'REGION', 'WORKSPACE', 'KEY', 'STATE', 'EXPIRES', 'NAME'],
    ...records.map((record) => {
      const { id, region, workspace, hint, state, expiresAt, name } = encode(record, clock);
      return [id, region, workspace, `…${hint}`, state, expiresAt ?? 'never', name];
    }),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
