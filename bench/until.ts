import { setTimeout as pause } from 'node:timers/promises';

/** Asks again and again; false when it took too long. */
export async function until(isSo: () => boolean | Promise<boolean>, msMax: number): Promise<boolean> {
  const endsAt = performance.now() + msMax;
  while (performance.now() < endsAt) {
    if (await isSo()) return true;
    await pause(100);
  }
  return false;
}
