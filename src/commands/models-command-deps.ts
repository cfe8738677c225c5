import type { Catalogue, ModelEntry } from '../catalogue/model.ts';
import type { MachineResources, ServedContext } from '../catalogue/recommend.ts';
import type { Abilities } from '../core/abilities.ts';
import type { HubIndex } from '../weights/hub-index.ts';
import type { ProgressStream } from '../weights/progress-printer.ts';
import type { QueriedEntry } from '../service/query-servers.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';

export interface ModelsCommandContext {
  readonly catalogue: Catalogue;
  readonly weights: WeightsStore;
  readonly hub: HubIndex;
  /** Asks the servers of an entry for what its record leaves open. */
  queryServers(entry: ModelEntry): Promise<QueriedEntry>;
  /** Detects how a local model writes tool calls, by its file. Undefined when something else parses them. */
  detectToolCalls(entry: ModelEntry, modelFile: string | undefined): Promise<Abilities['toolCalls']>;
  /** Context that the configuration serves. */
  readonly served: ServedContext;
  /** Runtimes of weights that consist of a folder. */
  readonly runtimes: Pick<RuntimeStore, 'locate'>;
  /** Adds `section: { key: value }` to the configuration file. */
  addToConfig(section: 'models', key: string, value: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Makes a running server read its configuration again. Returns false if none is running. */
  reloadServer(): boolean | Promise<boolean>;
}

export interface ModelsCommandDeps {
  /** @param flags Options of the command and its parent commands, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<ModelsCommandContext>;
  readonly stdout: { write(text: string): unknown };
  /** Receives progress. Standard output contains results only. */
  readonly stderr: ProgressStream;
  /** Default: the machine that runs the command. */
  readonly machine?: () => Promise<MachineResources>;
}
