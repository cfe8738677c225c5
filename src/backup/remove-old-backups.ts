import { listBackupIds, tryReadManifest, type BackupTarget } from './backup-target.ts';
import { getDamageMarkName, getManifestName, isOwnObject, listObjectNames } from './manifest.ts';

export interface RemovedBackups {
  readonly backups: readonly string[];
  readonly objects: number;
  /** Backups that stay although their manifests cannot be read, and with them all contents. */
  readonly unreadable: readonly string[];
}

/**
 * Removes all but the newest backups, and objects that no remaining backup has: also what interrupted backups have
 * copied. No backup may run on the target meanwhile.
 * A backup whose manifest cannot be read is not one of the newest and is not removed, and while there is one, contents
 * stay: it may need them.
 * @param keep At least 1.
 */
export async function removeOldBackups(target: BackupTarget, keep: number): Promise<RemovedBackups> {
  const objects = await target.listObjects();
  const ids = listBackupIds(objects);
  const needed = new Set<string>();
  const unreadable: string[] = [];
  const backups: string[] = [];
  let keptCount = 0;
  for (const id of ids) {
    const manifest = await tryReadManifest(target, id);
    if (!manifest) {
      unreadable.push(id);
      continue;
    }
    if (keptCount === keep) {
      backups.push(id);
      continue;
    }
    keptCount += 1;
    needed.add(getManifestName(id));
    for (const name of listObjectNames(manifest)) {
      needed.add(name);
      needed.add(getDamageMarkName(name));
    }
  }
  // Manifests first: a backup whose objects are removed only partly must not be listed.
  for (const id of backups) await target.remove(getManifestName(id));
  const removed = new Set(backups.map((id) => getManifestName(id)));
  const isOfRemoved = (name: string): boolean => backups.some((id) => isOwnObject(name, id));
  const garbage = [...objects.keys()].filter(
    (name) => !needed.has(name) && !removed.has(name) && (unreadable.length === 0 || isOfRemoved(name)),
  );
  for (const name of garbage) await target.remove(name);
  return { backups, objects: garbage.length, unreadable };
}
