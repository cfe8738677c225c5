/** Whether weights can be used on this machine. */
export type WeightsStatus =
  | { readonly state: 'present'; readonly path: string }
  /** The file or folder has other content than the catalogue states. `problem` is a clause about it. */
  | RefusedWeights
  | { readonly state: 'missing' };

export interface RefusedWeights {
  readonly state: 'refused';
  readonly path: string;
  readonly problem: string;
}

/** Results of reading files, so that a process reads the same version of a file once. */
export interface ContentResults {
  get(path: string, version: string): WeightsStatus | undefined;
  set(path: string, version: string, status: WeightsStatus): void;
}

/** Creates an empty memory. It keeps one version of each path. */
export function createContentResults(): ContentResults {
  const results = new Map<string, { readonly version: string; readonly status: WeightsStatus }>();
  return {
    get(path, version) {
      const known = results.get(path);
      return known?.version === version ? known.status : undefined;
    },
    set: (path, version, status) => void results.set(path, { version, status }),
  };
}
