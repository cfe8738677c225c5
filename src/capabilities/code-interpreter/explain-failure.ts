import { existsSync, readFileSync } from 'node:fs';

/** Properties of the system on which the sandboxes of level `strict` depend. */
export interface SystemState {
  readonly isRoot: boolean;
  /** Whether the service runs in a container. */
  readonly isContainer: boolean;
  /** Values of the kernel's settings; absent where the kernel has no such setting. */
  readonly maxUserNamespaces?: string;
  readonly unprivilegedUserNamespaces?: string;
  readonly apparmorRestriction?: string;
}

/** Reads the state of this system. */
export const readSystemState = (): SystemState => ({
  isRoot: process.getuid?.() === 0,
  isContainer:
    ['/.dockerenv', '/run/.containerenv'].some((path) => existsSync(path)) ||
    process.env['KUBERNETES_SERVICE_HOST'] !== undefined,
  ...readSetting('maxUserNamespaces', '/proc/sys/user/max_user_namespaces'),
  ...readSetting('unprivilegedUserNamespaces', '/proc/sys/kernel/unprivileged_userns_clone'),
  ...readSetting('apparmorRestriction', '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
});

function readSetting(name: keyof SystemState, path: string): Partial<SystemState> {
  try {
    return { [name]: readFileSync(path, 'utf8').trim() };
  } catch {
    return {};
  }
}

/** Messages of container engines, and the fix of each. */
const ENGINE_PROBLEMS: readonly (readonly [message: RegExp, fix: string])[] = [
  [
    /image not known|no such image/i,
    'Parley pulls no image; pull it with the container engine, or make it from the runtime of this machine as ' +
      'docs/code-interpreter.md shows',
  ],
  [/container-init binary not found/, 'podman has no init program; install the package catatonit'],
  [
    /cgroups in hybrid mode not supported/,
    'crun does not run with cgroups of both versions; install runc, and set `runtime = "runc"` below `[engine]` in ' +
      '/etc/containers/containers.conf',
  ],
];

/** Returns what the system lacks for sandboxes that failed with these reasons, and the fix; undefined if unknown. */
export function explainFailure(reasons: string, state: SystemState): string | undefined {
  if (state.isRoot && /started \d+ processes/.test(reasons)) {
    return 'the system does not limit the processes of root; run the service as another user (`docker run --user`)';
  }
  for (const [problem, fix] of ENGINE_PROBLEMS) if (problem.test(reasons)) return fix;
  if (!/no process starts in it.*(not permitted|not implemented|denied|no space left)/is.test(reasons))
    return undefined;
  if (state.maxUserNamespaces === '0') return 'user namespaces are off; run `sysctl user.max_user_namespaces=15000`';
  if (state.unprivilegedUserNamespaces === '0') {
    return 'user namespaces are for root only; run `sysctl kernel.unprivileged_userns_clone=1`';
  }
  if (state.isContainer) {
    return (
      'the container around the service forbids namespaces; start it with `--security-opt seccomp=unconfined ' +
      '--security-opt apparmor=unconfined`, in Kubernetes with seccompProfile and appArmorProfile Unconfined'
    );
  }
  if (state.apparmorRestriction === '1') {
    return (
      'AppArmor restricts user namespaces; run `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, ' +
      'or install bubblewrap and a profile that allows it userns'
    );
  }
  return undefined;
}
