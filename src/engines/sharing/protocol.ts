/**
 * Functions of a Parley process that runs engines (the host) for another one that calls them (the client). The ready
 * values tell the client how to call an engine; requests and answers do not pass through the host.
 */
export interface EngineHostFunctions {
  /** Leases the process that runs this model of the catalogue; it is not stopped before the release. */
  'engine.open': (model: string) => LeaseReference;
  /** Resolves when the process is ready: at once, or after its start or restart. */
  'engine.ready': (reference: LeaseReference) => ReadyChild;
  /** Reports a failed call. Resolves when the host knows whether the process has exited. */
  'engine.gone': (gone: LeaseReference & Pick<ReadyChild, 'generation'>) => boolean;
  'engine.release': (released: LeaseReference & { readonly idleMs: number }) => void;
}

export interface EngineClientFunctions {
  /** Asks the client to release leases that it does not use, because the host needs memory. */
  'engine.recall': (all: null) => void;
}

export interface LeaseReference {
  readonly lease: number;
}

export interface ReadyChild {
  /** Number of the start that this client saw: the same number means the same process. */
  readonly generation: number;
  /** Ready value of the process, plain JSON. */
  readonly value: unknown;
}
