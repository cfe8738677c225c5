import type { DeploymentNotifier } from './deployment.ts';

export function createDeploymentNotifier(): DeploymentNotifier {
  const listeners = new Set<() => void>();
  return {
    notify() {
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      // A new function per subscription, so that a listener that subscribes twice can end one of the two.
      const entry = (): void => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}
