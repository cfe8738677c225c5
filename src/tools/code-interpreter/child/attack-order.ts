// What the service and the process that attacks its own sandbox say to each other: one JSON object a line.

export type Tried = 'file' | 'host-processes' | 'environment' | 'writing' | 'network' | 'processes' | 'memory' | 'time';

export interface AttackOrder {
  /** In this order; after the last one the process ends. */
  readonly attacks: readonly Tried[];
  /** A file of the service's, and what is in it and nowhere else. */
  readonly secretFile: string;
  readonly secret: string;
  /** The service's process. */
  readonly ownerPid: number;
  /** The process group that this one was started in, as the service sees it. */
  readonly group: number;
  /** Part of the command that the service was started with. */
  readonly ownerCommand: string;
  /** SHA-256 of each `name=value` of the service's environment, but for what every system has. */
  readonly environmentHashes: readonly string[];
  /** Folders that nothing may be written into. */
  readonly writableFolders: readonly string[];
  /** Something listens there, on 127.0.0.1. */
  readonly port: number;
  readonly processesMax: number;
  /** More than there may be. */
  readonly memoryBytes: number;
}

export type AttackReport =
  | { readonly type: 'begun'; readonly tried: Tried }
  /** `broke` says what worked; absent: nothing did. */
  | { readonly type: 'tried'; readonly tried: Tried; readonly broke?: string };
