import { listBackupIds, type BackupTarget } from './backup-target.ts';
import { getDamageMarkName, getManifestName, listObjectNames } from './manifest.ts';

export interface RemovedBackups {
  readonly backups: readonly string[];
  readonly objects: number;
}

/**
 * Removes all but the newest backups, and objects that no remaining backup has: also what interrupted backups have
 * copied. No backup may run on the target meanwhile.
 * @param keep At least 1.
 * @throws ServiceError `internal` if a remaining manifest is damaged; nothing is removed then.
 */
export async function removeOldBackups(target: BackupTarget, keep: number): Promise<RemovedBackups> {
  const objects = await target.listObjects();
  const ids = listBackupIds(objects);
  const needed = new Set<string>();
  for (const id of ids.slice(0, keep)) {
    needed.add(getManifestName(id));
    for (const name of listObjectNames(await target.readManifest(id))) {
      needed.add(name);
      needed.add(getDamageMarkName(name));
    }
  }
  const backups = ids.slice(keep);
  // Manifests first: a backup whose objects are removed only partly must not be listed.
  for (const id of backups) await target.remove(getManifestName(id));
  const removed = new Set(backups.map((id) => getManifestName(id)));
  const garbage = [...objects.keys()].filter((name) => !needed.has(name) && !removed.has(name));
  for (const name of garbage) await target.remove(name);
  return { backups, objects: garbage.length };
}
