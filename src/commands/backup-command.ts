import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { listBackupIds, tryReadManifest, type BackupTarget } from '../backup/backup-target.ts';
import type { LeftOutFile } from '../backup/data-files.ts';
import { markDamage } from '../backup/mark-damage.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { createDamageError, findBackup, sumBytes, verifyBackup, type ObjectDamage } from '../backup/restore-backup.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { ServiceError } from '../core/error.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { openTargetForReading, runBackup, type Environment } from '../service/open-backups.ts';
import { createTransferPrinter } from './transfer-printer.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';
import { readPackageVersion } from './read-package-version.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';
import type { TerminalStream } from './terminal-stream.ts';

export interface BackupCommandDeps {
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  readonly env: Environment;
  readonly stdout: { write(text: string): unknown };
  /** Receives progress and warnings. Standard output contains results only. */
  readonly stderr: TerminalStream;
}

interface BackupOptions {
  readonly encryptWith?: string;
  readonly keep?: number;
  readonly json?: true;
}

/** Creates `parley backup`. */
export function createBackupCommand(deps: BackupCommandDeps): Command {
  return (
    new Command('backup')
      // Options after `list` and `verify` are theirs.
      .enablePositionalOptions()
      .description('back up the service, which may be running, to a folder or a bucket')
      .argument('<target>', 'folder, or s3://bucket/prefix; the same one each time, so that only new files are copied')
      .option('--encrypt-with <file>', 'file with a passphrase or key; without it, nobody can read the backups')
      .option('--keep <number>', 'afterwards, remove all but the newest backups of the target', parseKeep)
      .option('--json', 'print one JSON object')
      .action(async (target: string, options: BackupOptions, command: Command) =>
        runBackupCommand(deps, target, options, command),
      )
      .addCommand(createListCommand(deps))
      .addCommand(createVerifyCommand(deps))
  );
}

async function runBackupCommand(
  { load, env, stdout, stderr }: BackupCommandDeps,
  target: string,
  { encryptWith, keep, json }: BackupOptions,
  command: Command,
): Promise<void> {
  const { config, file } = load(command.optsWithGlobals());
  const secret = await readSecret(encryptWith);
  const unreadable = new Set<string>();
  const printer = createTransferPrinter(stderr);
  const { manifest, copied, removed, leftOut } = await runUntilInterrupted(
    'Interrupted. The next backup continues with what was copied.',
    (signal) =>
      runBackup({
        config,
        configFile: file.exists ? file.path : undefined,
        environment: env,
        location: resolveLocation(target),
        secret,
        keep,
        version: readPackageVersion(),
        signal,
        onProgress: ({ phase, ...progress }) => printer.update(phase, progress),
        onUnreadable: (id) => void unreadable.add(id),
      }),
  ).finally(() => printer.finish());
  for (const id of removed?.unreadable ?? []) unreadable.add(id);
  for (const id of unreadable) stderr.write(`parley: ${describeUnreadable(id)}\n`);
  if ((removed?.unreadable.length ?? 0) > 0)
    stderr.write(
      'parley: contents of old backups are kept, because backups with unreadable manifests may need them; remove the objects manifest_… of those backups from the target to release them\n',
    );
  const { id, problems } = manifest;
  const result = {
    ...encodeManifest(manifest),
    copied,
    removed: removed?.backups ?? [],
    unreadable: [...unreadable],
    leftOut,
  };
  stdout.write(
    json
      ? formatJsonLine(result)
      : `${id}: ${manifest.blobs.length} files and the database, ${formatBytes(sumBytes(manifest))}; ` +
          `${copied.count} files copied now (${formatBytes(copied.bytes)})` +
          `${removed ? `; ${removed.backups.length} old backups removed` : ''}\n`,
  );
  for (const file of leftOut) stderr.write(`parley: ${formatLeftOut(file)}\n`);
  if (problems.length === 0) return;
  throw new ServiceError(
    'internal',
    [
      `The backup is complete, but the service itself has lost content. ${problems.length} files are damaged or missing:`,
      ...problems.map(({ blob, problem }) => `  ${blob}: ${problem}`),
    ].join('\n'),
  );
}

const formatLeftOut = ({ path, sizeBytes, reason }: LeftOutFile): string =>
  `${path} in the data folder is not in the backup: ${reason}${sizeBytes === undefined ? '' : ` (${formatBytes(sizeBytes)})`}`;

interface ReadOptions {
  readonly decryptWith?: string;
}

function createListCommand(deps: BackupCommandDeps): Command {
  return new Command('list')
    .description('list the complete backups of a target, newest first')
    .argument('<target>', 'folder, or s3://bucket/prefix')
    .option('--decrypt-with <file>', 'file with the passphrase or key of the backups')
    .option('--json', 'print one JSON array')
    .action(async (location: string, { decryptWith }: ReadOptions, command: Command) => {
      const json = wantsJson(command);
      await withBackups(deps, { location, decryptWith, command }, async (target) => {
        const manifests: BackupManifest[] = [];
        for (const id of listBackupIds(await target.listObjects())) {
          const manifest = await tryReadManifest(target, id);
          if (manifest) manifests.push(manifest);
          else deps.stderr.write(`parley: ${describeUnreadable(id)}\n`);
        }
        deps.stdout.write(json ? formatJsonLine(manifests.map(encodeManifest)) : formatBackups(manifests));
      });
    });
}

interface VerifyCommandOptions extends ReadOptions {
  readonly at?: string;
}

function createVerifyCommand(deps: BackupCommandDeps): Command {
  return new Command('verify')
    .description(
      'read a backup completely and compare every hash; exit code 1, and marks for the next backup, if anything is damaged',
    )
    .argument('<target>', 'folder, or s3://bucket/prefix')
    .option('--at <id>', 'ID of the backup (default: the newest)')
    .option('--decrypt-with <file>', 'file with the passphrase or key of the backups')
    .option('--json', 'print one JSON object')
    .action(async (location: string, { at, decryptWith }: VerifyCommandOptions, command: Command) => {
      const json = wantsJson(command);
      await withBackups(deps, { location, decryptWith, command }, async (target) => {
        const manifest = await findBackup(target, at);
        const printer = createTransferPrinter(deps.stderr);
        const damage = await runUntilInterrupted('Interrupted.', (signal) =>
          verifyBackup(target, manifest, { signal, onProgress: (progress) => printer.update('verify', progress) }),
        ).finally(() => printer.finish());
        const { marked, hint } = await markForNextBackup(target, manifest, damage);
        if (json) deps.stdout.write(formatJsonLine({ id: manifest.id, damage, marked }));
        if (damage.length > 0) throw createDamageError(manifest, damage, hint);
        if (!json) deps.stdout.write(`${manifest.id} is intact: ${formatBytes(sumBytes(manifest))} read\n`);
      });
    });
}

/** Marks damaged contents, if the target can be written. @returns what to do next, for people. */
async function markForNextBackup(target: BackupTarget, manifest: BackupManifest, damage: readonly ObjectDamage[]) {
  const next =
    'A backup that still has the contents of the service repairs the older ones. Until then, `parley restore --allow-damaged` restores the rest.';
  try {
    const marked = await markDamage(target, manifest, damage);
    const hint =
      marked.length === 0
        ? 'Each backup has its own database and files: make a new backup, or restore another with --at.'
        : `Marked as damaged: ${marked.length} contents, which the next backup to this target copies again. ${next}`;
    return { marked, hint };
  } catch (thrown) {
    const { message } = ServiceError.from(thrown);
    const hint = `The damage cannot be marked, so that the next backup would not copy the contents again: ${message} Run verify where the target can be written.`;
    return { marked: [], hint };
  }
}

const describeUnreadable = (id: string): string =>
  `the manifest of backup ${id} is damaged, or of a newer version of Parley; this backup cannot be restored`;

/** The parent command takes an option that both have. */
const wantsJson = (command: Command): boolean => command.optsWithGlobals()['json'] === true;

interface OpenBackupsOptions {
  readonly location: string;
  readonly decryptWith: string | undefined;
  readonly command: Command;
}

/** Opens a target for reading, and closes it after the work. */
export async function withBackups(
  { load, env }: Pick<BackupCommandDeps, 'load' | 'env'>,
  { location, decryptWith, command }: OpenBackupsOptions,
  work: (target: BackupTarget) => Promise<void>,
): Promise<void> {
  const { config } = load(command.optsWithGlobals());
  const target = await openTargetForReading({
    location: resolveLocation(location),
    secret: await readSecret(decryptWith),
    environment: env,
    spoolFolder: config.data,
  });
  try {
    await work(target);
  } finally {
    await target.close();
  }
}

const resolveLocation = (location: string): string => (location.startsWith('s3://') ? location : resolve(location));

/** Reads a passphrase or key; a line break at its end does not count. */
async function readSecret(file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  try {
    const bytes = await readFile(file);
    let end = bytes.length;
    while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
    return bytes.subarray(0, end);
  } catch (error) {
    throw new ServiceError(
      'invalid-request',
      `Cannot read the passphrase or key file ${file} (${getErrorCode(error) ?? 'error'}).`,
    );
  }
}

function parseKeep(text: string): number {
  const keep = Number(text);
  if (/^\d+$/.test(text) && keep >= 1) return keep;
  throw new InvalidArgumentError('must be a whole number, at least 1');
}

const encodeManifest = (manifest: BackupManifest) => ({
  id: manifest.id,
  createdAt: new Date(manifest.createdAt).toISOString(),
  finishedAt: new Date(manifest.finishedAt).toISOString(),
  version: manifest.version,
  databaseBytes: manifest.database.sizeBytes,
  migrations: manifest.database.migrations,
  files: manifest.files.map(({ path }) => path),
  blobs: manifest.blobs.length,
  blobBytes: manifest.blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  problems: manifest.problems,
});

const formatBackups = (manifests: readonly BackupManifest[]): string =>
  manifests.length === 0
    ? 'no complete backups\n'
    : formatTable([
        ['ID', 'CREATED', 'VERSION', 'DATABASE', 'FILES', 'SIZE', 'PROBLEMS'],
        ...manifests.map((manifest) => [
          manifest.id,
          new Date(manifest.createdAt).toISOString(),
          manifest.version,
          formatBytes(manifest.database.sizeBytes),
          String(manifest.blobs.length),
          formatBytes(sumBytes(manifest)),
          String(manifest.problems.length),
        ]),
      ]);
