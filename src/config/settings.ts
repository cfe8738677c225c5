/** A setting that an environment variable, and perhaps a flag, can set. All other settings are set in the file only. */
export interface Setting {
  /** Dotted path, as in the file. */
  readonly path: string;
  /** Derived from the path unless it has another name: `PARLEY_LOG_LEVEL` for `log.level`. */
  readonly env: string;
  /** In commander's notation. */
  readonly flag?: { readonly option: string; readonly description: string };
  /** Determines how a text is parsed. */
  readonly type: SettingType;
}

/**
 * `path` and `paths` are resolved relative to the folder of the configuration file, or else to the working directory.
 */
export type SettingType = 'text' | 'number' | 'boolean' | 'list' | 'path' | 'paths';

export const CONFIG_FILE_OPTION = {
  env: 'PARLEY_CONFIG',
  option: '--config <file>',
  description: 'configuration file (default: parley.yaml in the data folder)',
} as const;

/** Returns the name of the variable for a dotted path. */
const toVariable = (path: string): string =>
  `PARLEY_${path.replaceAll(/[A-Z]/g, '_$&').replaceAll('.', '_').toUpperCase()}`;

const DECLARATIONS: readonly (Omit<Setting, 'env'> & Partial<Pick<Setting, 'env'>>)[] = [
  { path: 'data', type: 'path', flag: { option: '--data <folder>', description: 'data folder' } },
  { path: 'host', type: 'text', flag: { option: '--host <address>', description: 'address to listen on' } },
  {
    path: 'port',
    type: 'number',
    flag: { option: '--port <number>', description: 'port to listen on; 0: any free one' },
  },
  {
    path: 'workers',
    type: 'number',
    flag: { option: '--workers <number>', description: 'processes that serve requests' },
  },
  {
    path: 'with',
    type: 'list',
    flag: { option: '--with <parts>', description: 'parts to install at the start: speech' },
  },
  {
    path: 'publicUrl',
    type: 'text',
    flag: { option: '--public-url <url>', description: 'base URL at which clients reach the service' },
  },
  {
    path: 'engine.threads',
    type: 'number',
    flag: { option: '--threads <number>', description: 'threads of the engine' },
  },
  {
    path: 'log.level',
    type: 'text',
    flag: { option: '--log-level <level>', description: 'fatal, error, warn, info, debug or trace' },
  },
  { path: 'tls.cert', type: 'path' },
  { path: 'tls.key', type: 'path' },
  { path: 'cors.origins', type: 'list' },
  { path: 'modelsFolder', type: 'path' },
  { path: 'extraModelsFolders', type: 'paths', env: 'PARLEY_MODELS' },
  { path: 'enginesFolder', type: 'path' },
  { path: 'npmRegistryUrl', type: 'text' },
  { path: 'hubUrl', type: 'text' },
  { path: 'engine.kind', type: 'text' },
  { path: 'engine.prefer', type: 'text' },
  { path: 'engine.llamaServer', type: 'text' },
  { path: 'engine.sequences', type: 'number' },
  { path: 'engine.workspaceShare', type: 'number' },
  { path: 'engine.contextTokens', type: 'number' },
  { path: 'engine.gpu', type: 'boolean' },
  { path: 'limits.deadlinePlainMs', type: 'number' },
  { path: 'limits.deadlineStreamMs', type: 'number' },
  { path: 'limits.keepAliveMs', type: 'number' },
  { path: 'limits.queuePlaces', type: 'number' },
  { path: 'limits.queueWaitMs', type: 'number' },
  { path: 'limits.bodyBytesMax', type: 'number' },
  { path: 'limits.connectionsPerAddress', type: 'number' },
  { path: 'limits.refusalsPerAddress', type: 'number' },
  { path: 'strict', type: 'boolean' },
  { path: 'log.pretty', type: 'boolean' },
  { path: 'operatorTokenFile', type: 'path' },
  { path: 'operatorHosts', type: 'list' },
  { path: 'trustedProxies', type: 'list' },
  { path: 'store.url', type: 'text' },
  { path: 'disk.freeShareMin', type: 'number' },
  { path: 'store.startCheck', type: 'boolean' },
  { path: 'store.backupBeforeMigration', type: 'boolean' },
  { path: 'blobs.url', type: 'text' },
  { path: 'files.fileBytesMax', type: 'number' },
  { path: 'files.totalBytesMax', type: 'number' },
  { path: 'files.countMax', type: 'number' },
  { path: 'files.urlSeconds', type: 'number' },
  { path: 'deployments.capacityMax', type: 'number' },
  { path: 'deployments.drainMs', type: 'number' },
  { path: 'batches.concurrency', type: 'number' },
  { path: 'vocabularies.listsMax', type: 'number' },
  { path: 'vocabularies.entriesMax', type: 'number' },
  { path: 'speech.sessionsMax', type: 'number' },
  { path: 'speech.beamWidth', type: 'number' },
  { path: 'speech.allow', type: 'list' },
  { path: 'search.pages.bytesMax', type: 'number' },
  { path: 'search.pages.charsMax', type: 'number' },
  { path: 'search.pages.allow', type: 'list' },
  { path: 'search.contact', type: 'text' },
  { path: 'research.queries', type: 'number' },
  { path: 'research.pages', type: 'number' },
  { path: 'research.tokens', type: 'number' },
  { path: 'research.minutes', type: 'number' },
  { path: 'research.writer', type: 'text' },
  { path: 'research.streamPlan', type: 'boolean' },
  { path: 'research.runsPerKey', type: 'number' },
  { path: 'research.runsPerWorkspace', type: 'number' },
  { path: 'codeInterpreter.level', type: 'text' },
  { path: 'codeInterpreter.driver', type: 'text' },
  { path: 'codeInterpreter.image', type: 'text' },
  { path: 'codeInterpreter.memoryMb', type: 'number' },
  { path: 'codeInterpreter.seconds', type: 'number' },
  { path: 'codeInterpreter.containersMax', type: 'number' },
  { path: 'codeInterpreter.containersPerWorkspace', type: 'number' },
  { path: 'codeInterpreter.warm', type: 'number' },
  { path: 'codeInterpreter.wheelsFolder', type: 'path' },
  { path: 'callbacks.allow', type: 'list' },
  { path: 'images.allow', type: 'list' },
  { path: 'images.totalBytesMax', type: 'number' },
  { path: 'images.workspaceBytesMax', type: 'number' },
  { path: 'retention.conversationsDays', type: 'number' },
  { path: 'retention.responsesDays', type: 'number' },
  { path: 'retention.batchesDays', type: 'number' },
  { path: 'retention.filesDays', type: 'number' },
  { path: 'retention.keysDays', type: 'number' },
  { path: 'timezone', type: 'text' },
  { path: 'shutdownGraceMs', type: 'number' },
];

export const SETTINGS: readonly Setting[] = DECLARATIONS.map((each) => ({ env: toVariable(each.path), ...each }));
