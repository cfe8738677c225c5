import { mkdirSync } from 'node:fs';
import { Command } from 'commander';
import type { LoadedConfig } from '../config/load-config.ts';
import { backUpBeforeMigration, planMigration, type MigrationPlan } from '../service/back-up-before-migration.ts';
import { openMigratedDatabase } from '../service/open-components.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';

export interface MigrateCommandDeps {
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  readonly stdout: { write(text: string): unknown };
}

interface MigrateOptions {
  readonly dryRun?: true;
  readonly json?: true;
}

/** Creates `parley migrate`. */
export function createMigrateCommand({ load, stdout }: MigrateCommandDeps): Command {
  return new Command('migrate')
    .description('update the database for this version, as the start of the service does; copies it first')
    .option('--dry-run', 'only show what would be done')
    .option('--json', 'print one JSON object')
    .action(async ({ dryRun, json }: MigrateOptions, command: Command) => {
      const { config } = load(command.optsWithGlobals());
      const plan = await planMigration(config);
      if (dryRun) {
        stdout.write(json ? formatJsonLine(plan) : formatPlan(plan));
        return;
      }
      mkdirSync(config.data, { recursive: true, mode: 0o700 });
      const backup = await backUpBeforeMigration(config);
      const store = await openMigratedDatabase(config);
      await store.close();
      stdout.write(
        json
          ? formatJsonLine({ applied: plan.pending, backup: backup ?? null })
          : `${formatApplied(plan.pending)}${backup === undefined ? '' : `copy of the database from before: ${backup}\n`}`,
      );
    });
}

const formatApplied = (names: readonly string[]): string =>
  names.length === 0 ? 'the database is up to date\n' : names.map((name) => `${name} applied\n`).join('');

const formatPlan = ({ database, databaseBytes, pending, makesBackup, neededBytes, freeBytes }: MigrationPlan): string =>
  [
    `database: ${database}, ${formatBytes(databaseBytes)}`,
    ...(pending.length === 0 ? ['the database is up to date'] : pending.map((name) => `would apply ${name}`)),
    `would copy the database first: ${makesBackup ? 'yes' : 'no'}`,
    `space: needs up to ${formatBytes(neededBytes)}, ${formatBytes(freeBytes)} free`,
  ]
    .map((line) => `${line}\n`)
    .join('');
