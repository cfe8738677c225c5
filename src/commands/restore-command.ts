import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { findBackup, prepareRestoreFolder, restoreBackup, sumBytes } from '../backup/restore-backup.ts';
import { openLocation } from '../service/open-backups.ts';
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
  readonly json?: true;
}

/** Creates `parley restore`. */
export function createRestoreCommand(deps: BackupCommandDeps): Command {
  return new Command('restore')
    .description('restore a backup into an empty folder, which is then the data folder of a service')
    .argument('<target>', 'folder, or s3://bucket/prefix, with the backups')
    .requiredOption('--to <folder>', 'data folder to create; must be missing or empty')
    .option('--at <id>', 'ID of the backup, as `parley backup list` shows it (default: the newest)')
    .option('--blobs <url>', 'write file contents to s3://bucket/prefix instead, for a service with `blobs.url`')
    .option('--decrypt-with <file>', 'file with the passphrase or key of the backups')
    .option('--json', 'print one JSON object')
    .action(async (location: string, { to, at, blobs, decryptWith, json }: RestoreOptions, command: Command) => {
      await withBackups(deps, { location, decryptWith, command }, async (target) => {
        const folder = resolve(to);
        const manifest = await findBackup(target, at);
        await prepareRestoreFolder(folder, manifest);
        const printer = createTransferPrinter(deps.stderr);
        const blobStore = await openLocation({
          location: blobs ?? join(folder, 'blobs'),
          environment: deps.env,
          spoolFolder: join(folder, 'blobs'),
        });
        try {
          await runUntilInterrupted('Interrupted. The folder is empty again.', (signal) =>
            restoreBackup(target, manifest, {
              folder,
              blobs: blobStore,
              checkDatabase: async (file) => void (await readSnapshot(file)),
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
            ? formatJsonLine({ id, folder, database: database.path, blobs: manifest.blobs.length, problems })
            : `${id} restored: ${formatBytes(sumBytes(manifest))}, every hash verified. Start it with: parley serve --data ${folder}\n`,
        );
      });
    });
}
