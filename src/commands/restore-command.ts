import { join, resolve } from 'node:path';
import { Command } from 'commander';
import {
  describeDamage,
  findBackup,
  prepareRestoreFolder,
  restoreBackup,
  sumBytes,
  type ObjectDamage,
} from '../backup/restore-backup.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { relocateConfig, type ConfigChange } from '../config/relocate-config.ts';
import { ServiceError } from '../core/error.ts';
import { openLocation, type Environment } from '../service/open-backups.ts';
import { readSnapshot } from '../store/snapshots/sqlite-snapshot.ts';
import { withBackups, type BackupCommandDeps } from './backup-command.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';
import { createTransferPrinter } from './transfer-printer.ts';

interface RestoreOptions {
  readonly to: string;
  readonly at?: string;
  readonly blobs?: string;
  readonly decryptWith?: string;
  readonly allowDamaged?: true;
  readonly json?: true;
}

/** Creates `parley restore`. */
export function createRestoreCommand(deps: BackupCommandDeps): Command {
  return new Command('restore')
    .description('restore a backup into an empty folder, which is then the data folder of a service')
    .argument('<target>', 'folder, or s3://bucket/prefix, with the backups')
    .requiredOption('--to <folder>', 'data folder to create; must be missing or empty')
    .option('--at <id>', 'ID of the backup, as `parley backup list` shows it (default: the newest)')
    .option(
      '--blobs <url>',
      'write file contents to s3://bucket/prefix, which must be empty (default: the data folder)',
    )
    .option('--decrypt-with <file>', 'file with the passphrase or key of the backups')
    .option('--allow-damaged', 'restore everything else if objects other than the database are damaged')
    .option('--json', 'print one JSON object')
    .action(async (location: string, options: RestoreOptions, command: Command) => {
      const { to, at, blobs, decryptWith, allowDamaged, json } = options;
      await withBackups(deps, { location, decryptWith, command }, async (target) => {
        const folder = resolve(to);
        checkBlobsUrl(blobs);
        const manifest = await findBackup(target, at);
        await prepareRestoreFolder(folder, manifest);
        const printer = createTransferPrinter(deps.stderr);
        let changes: readonly ConfigChange[] = [];
        let damage: readonly ObjectDamage[] = [];
        const blobStore = await openLocation({
          location: blobs ?? join(folder, 'blobs'),
          environment: deps.env,
          spoolFolder: join(folder, 'blobs'),
        });
        try {
          damage = await runUntilInterrupted('Interrupted. The folder is empty again.', (signal) =>
            restoreBackup(target, manifest, {
              folder,
              allowDamaged: allowDamaged === true,
              blobs: blobStore,
              checkDatabase: async (file) => void (await readSnapshot(file)),
              async relocateFiles() {
                changes = await relocateConfig(folder, { databasePath: manifest.database.path, blobsUrl: blobs });
              },
              signal,
              onProgress: (progress) => printer.update('restore', progress),
            }),
          );
        } finally {
          printer.finish();
          await blobStore.close();
        }
        const { id, problems, database } = manifest;
        for (const { blob, problem } of problems)
          deps.stderr.write(`parley: ${blob} was already ${problem} when the backup was made\n`);
        deps.stdout.write(
          json
            ? formatJsonLine({
                id,
                folder,
                database: database.path,
                blobs: manifest.blobs.length,
                problems,
                damage,
                // JSON has no undefined: a setting that was or is absent is null.
                changes: changes.map(({ setting, before, after }) => ({
                  setting,
                  before: before ?? null,
                  after: after ?? null,
                })),
              })
            : [
                `${id} restored: ${formatBytes(sumBytes(manifest))}, every hash verified${damage.length > 0 ? ', without what is damaged' : ''}.`,
                ...changes.map(formatChange),
                `Start it with: parley serve --data ${folder}\n`,
              ].join('\n'),
        );
        deps.stderr.write(`parley: ${formatEnvironmentWarning(deps.env)}\n`);
        if (damage.length > 0) throw createLossError(manifest, damage);
      });
    });
}

function checkBlobsUrl(url: string | undefined): void {
  if (url === undefined || url.startsWith('s3://')) return;
  throw new ServiceError(
    'invalid-request',
    `--blobs must be s3://bucket/prefix, got ${url}. Without --blobs, file contents are restored to the data folder.`,
    { param: 'blobs' },
  );
}

const formatChange = ({ setting, before, after }: ConfigChange): string =>
  `parley.yaml: ${setting} ${after === undefined ? 'removed' : `set to ${after}`}${before === undefined ? '' : `, was ${before}`}`;

/** Variables that take precedence over what a restore writes to `parley.yaml`. */
const LOCATION_VARIABLES = ['PARLEY_BLOBS_URL', 'PARLEY_STORE_URL', 'PARLEY_CONFIG'];

function formatEnvironmentWarning(env: Environment): string {
  const present = LOCATION_VARIABLES.filter((name) => (env[name] ?? '') !== '');
  const warning =
    `WARNING: ${LOCATION_VARIABLES.join(', ')} take precedence over the restored parley.yaml. If they name the bucket or database ` +
    'of another service, the restored service deletes its files or changes its data. Unset them before the start.';
  return present.length === 0 ? warning : `${warning} Set here: ${present.join(', ')}.`;
}

/** Names what a restore has left out: files of the service by their path, contents by the name of their blob. */
function createLossError({ files }: BackupManifest, damage: readonly ObjectDamage[]): ServiceError {
  const paths = new Map(files.map(({ name, path }) => [name, path]));
  const lost = damage.map(({ name, problem }) => ({ name: paths.get(name) ?? name, problem }));
  return new ServiceError(
    'internal',
    [
      `The folder is restored without ${lost.length} damaged objects:`,
      ...describeDamage(lost),
      'Requests for lost contents are answered with an error. Upload those files again.',
    ].join('\n'),
  );
}
