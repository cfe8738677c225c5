import { setTimeout as pause } from 'node:timers/promises';

/** Polls until the condition is met. Returns false when `msMax` milliseconds have passed. */
export async function waitUntil(isMet: () => boolean | Promise<boolean>, msMax: number): Promise<boolean> {
  const endsAt = performance.now() + msMax;
  while (performance.now() < endsAt) {
    if (await isMet()) return true;
    await pause(100);
  }
  return false;
}
