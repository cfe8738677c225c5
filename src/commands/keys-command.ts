import { Command } from 'commander';
import { ServiceError } from '../core/error.ts';
import type { KeyRecord } from '../core/key.ts';
import type { RegionId } from '../core/region.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewKey } from '../resources/keys/key.ts';
import { parseExpiry, parseRegion, PRIMARY_WORKSPACE, getKeyState } from '../resources/keys/rules.ts';
import type { KeysHandle } from '../service/open-components.ts';
import { formatJsonLine } from './format-json-line.ts';
import { withResource } from './with-resource.ts';

export interface KeysCommandDeps {
  /**
   * Opens the keys in the configured database. A server may be using the same database.
   * @param flags Options of the command and its parent commands, by name.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<KeysHandle>;
  readonly clock: Clock;
  readonly stdout: { write(text: string): unknown };
  /** Receives warnings. Standard output contains results only. */
  readonly stderr: { write(text: string): unknown };
}

/** Creates `parley keys`. With `--json` it prints one value on standard output only. */
export function createKeysCommand(deps: KeysCommandDeps): Command {
  return new Command('keys')
    .description('create and revoke API keys')
    .addCommand(createCreateCommand(deps))
    .addCommand(createListCommand(deps))
    .addCommand(createRevokeCommand(deps))
    .addCommand(createRotateCommand(deps));
}

interface CreateOptions {
  readonly region?: string;
  readonly workspace: string;
  readonly name: string;
  readonly expires?: string;
  readonly json?: true;
}

function createCreateCommand(deps: KeysCommandDeps): Command {
  return new Command('create')
    .description('create a key; its secret is shown only once')
    .option('--region <id>', 'region of the key (default: the configured region, if there is only one)')
    .option('--workspace <name>', 'workspace of the key; a new name creates a workspace', PRIMARY_WORKSPACE)
    .option('--name <text>', 'label of the key in lists', '')
    .option('--expires <when>', 'expiry: 30d, 12h, 2027-01-31 (midnight UTC), 2027-01-31T10:00Z')
    .option('--json', 'print one JSON object with id and key')
    .action(async ({ region, workspace, name, expires, json }: CreateOptions, command: Command) => {
      // Validate the options first: opening the database may create it.
      const requestedRegion = region === undefined ? undefined : parseRegion(region);
      const expiresAt = expires === undefined ? undefined : parseExpiry(expires, deps.clock.now());
      await withResource(deps, command, async ({ keys, regions }) => {
        const key = await keys.create({
          region: requestedRegion ?? getOnlyRegion(regions),
          workspace,
          name,
          expiresAt,
        });
        if (requestedRegion && !regions.includes(requestedRegion)) {
          const configuredRegions = regions.join(', ');
          deps.stderr.write(
            `parley: the region ${requestedRegion} is not configured; the key works once it is (configured: ${configuredRegions})\n`,
          );
        }
        deps.stdout.write(json ? formatJsonLine(encodeNewKey(key, deps.clock)) : formatNewKey(key, deps.clock));
      });
    });
}

interface ListOptions {
  readonly region?: string;
  readonly workspace?: string;
  readonly json?: true;
}

function createListCommand(deps: KeysCommandDeps): Command {
  return new Command('list')
    .description('list keys without their secrets, oldest first; a last use is known within two minutes')
    .option('--region <id>', 'list keys of this region only')
    .option('--workspace <name>', 'list keys of this workspace only')
    .option('--json', 'print one JSON array')
    .action(async ({ region, workspace, json }: ListOptions, command: Command) => {
      const filter = { region: region === undefined ? undefined : parseRegion(region), workspace };
      await withResource(deps, command, async ({ keys }) => {
        const records: KeyRecord[] = [];
        for (let page = await keys.list(filter); page.length > 0;) {
          records.push(...page);
          page = await keys.list({ ...filter, after: page.at(-1)?.id });
        }
        deps.stdout.write(
          json
            ? formatJsonLine(records.map((record) => encodeKey(record, deps.clock)))
            : formatKeyTable(records, deps.clock),
        );
      });
    });
}

function createRevokeCommand(deps: KeysCommandDeps): Command {
  return new Command('revoke')
    .description('revoke a key; running servers reject it within 5 s')
    .argument('<id>', 'id of the key')
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json }: { readonly json?: true }, command: Command) => {
      await withResource(deps, command, async ({ keys }) => {
        const record = await keys.revoke(id);
        deps.stdout.write(json ? formatJsonLine(encodeKey(record, deps.clock)) : `${record.id} revoked\n`);
      });
    });
}

interface RotateOptions {
  readonly overlap?: string;
  readonly json?: true;
}

function createRotateCommand(deps: KeysCommandDeps): Command {
  return new Command('rotate')
    .description('create a key with the same settings and revoke the old one')
    .argument('<id>', 'id of the key')
    .option('--overlap <time>', 'let the old key expire after this time instead: 24h, 7d, or a date as for create')
    .option('--json', 'print one JSON object with id and key of the new key')
    .action(async (id: string, { overlap, json }: RotateOptions, command: Command) => {
      const overlapUntil = overlap === undefined ? undefined : parseExpiry(overlap, deps.clock.now(), 'overlap');
      await withResource(deps, command, async ({ keys }) => {
        const key = await keys.rotate(id, overlapUntil);
        deps.stdout.write(json ? formatJsonLine(encodeNewKey(key, deps.clock)) : formatNewKey(key, deps.clock));
      });
    });
}

function getOnlyRegion(regions: readonly RegionId[]): RegionId {
  const [only, ...others] = regions;
  if (only !== undefined && others.length === 0) return only;
  throw new ServiceError(
    'invalid-request',
    `Several regions are configured. Choose one with --region ${regions.join(' or ')}.`,
    {
      param: 'region',
    },
  );
}

const formatTime = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

const encodeKey = (record: KeyRecord, clock: Clock) => ({
  id: record.id,
  region: record.region,
  workspace: record.workspace,
  name: record.name,
  hint: record.hint,
  state: getKeyState(record, clock.now()),
  createdAt: formatTime(record.createdAt),
  expiresAt: formatTime(record.expiresAt),
  revokedAt: formatTime(record.revokedAt),
  lastUsedAt: formatTime(record.usedAt),
});

const encodeNewKey = ({ secret, record }: NewKey, clock: Clock) => ({ ...encodeKey(record, clock), key: secret });

const formatNewKey = ({ secret, record }: NewKey, clock: Clock): string =>
  `${formatKeyTable([record], clock)}\n${secret}\n\nThis is the only time the key is shown.\n`;

function formatKeyTable(records: readonly KeyRecord[], clock: Clock): string {
  const rows = [
    ['ID', 'REGION', 'WORKSPACE', 'KEY', 'STATE', 'EXPIRES', 'LAST USE', 'NAME'],
    ...records.map((record) => {
      const { id, region, workspace, hint, state, expiresAt, lastUsedAt, name } = encodeKey(record, clock);
      return [id, region, workspace, `…${hint}`, state, expiresAt ?? 'never', lastUsedAt ?? 'never', name];
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
