import type { BackupTarget } from './backup-target.ts';
import { getDamageMarkName, type BackupManifest } from './manifest.ts';
import type { ObjectDamage } from './restore-backup.ts';

/**
 * Marks damaged blobs, which all backups of the target share, so that the next backup copies them again. Nothing is
 * removed: a copy that cannot be replaced may be partly of use.
 * @returns the marked blobs. Databases and files are not among them: each backup has its own.
 * @throws ServiceError if the target cannot be written.
 */
export async function markDamage(
  target: BackupTarget,
  { blobs }: BackupManifest,
  damage: readonly ObjectDamage[],
): Promise<readonly string[]> {
  const names = new Set(blobs.map(({ name }) => name));
  const marked = damage.map(({ name }) => name).filter((name) => names.has(name));
  for (const name of marked) await target.write(getDamageMarkName(name), createEmptyStream());
  return marked;
}

async function* createEmptyStream(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array();
}
