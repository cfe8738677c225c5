// Messages between the service and the process that attacks its own sandbox: one JSON object per line.

export type AttackName =
  | 'file'
  | 'host-processes'
  | 'environment'
  | 'writing'
  | 'network'
  | 'processes'
  | 'memory'
  | 'time';

export interface AttackCommand {
  /** Attacks in the order of their execution; the process exits after the last. */
  readonly attacks: readonly AttackName[];
  /** A file of the service, and its content, which exists nowhere else. */
  readonly secretFile: string;
  readonly secret: string;
  /** Process id of the service. */
  readonly servicePid: number;
  /** Process group of this process, as the service sees it. */
  readonly processGroup: number;
  /** Part of the command line of the service. */
  readonly serviceCommand: string;
  /** SHA-256 of each `name=value` in the environment of the service, except for common variables. */
  readonly environmentHashes: readonly string[];
  /** Folders that must not be writable. */
  readonly forbiddenFolders: readonly string[];
  /** Port on 127.0.0.1 that the service listens on. */
  readonly port: number;
  readonly processesMax: number;
  /** More memory than the sandbox allows. */
  readonly memoryBytes: number;
}

export type AttackReport =
  | { readonly type: 'started'; readonly attack: AttackName }
  /** `breach` describes what the attack achieved; absent if it failed. */
  | { readonly type: 'finished'; readonly attack: AttackName; readonly breach?: string };
