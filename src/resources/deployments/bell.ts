import type { DeploymentBell } from './deployment.ts';

export function createDeploymentBell(): DeploymentBell {
  const listeners = new Set<() => void>();
  return {
    ring() {
      for (const hear of listeners) hear();
    },
    listen(hear) {
      // One more for each, so that who listens twice and ends one still hears the other.
      const own = (): void => hear();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}
