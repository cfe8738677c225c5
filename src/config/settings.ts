/** A setting that an environment variable, and perhaps a flag, can set. All other settings are set in the file only. */
export interface Setting {
  /** Dotted path, as in the file. */
  readonly path: string;
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

export const SETTINGS: readonly Setting[] = [
  {
    path: 'data',
    type: 'path',
    env: 'PARLEY_DATA',
    flag: { option: '--data <folder>', description: 'data folder' },
  },
  {
    path: 'host',
    type: 'text',
    env: 'PARLEY_HOST',
    flag: { option: '--host <address>', description: 'address to listen on' },
  },
  {
    path: 'port',
    type: 'number',
    env: 'PARLEY_PORT',
    flag: { option: '--port <number>', description: 'port to listen on; 0: any free one' },
  },
  {
    path: 'workers',
    type: 'number',
    env: 'PARLEY_WORKERS',
    flag: { option: '--workers <number>', description: 'processes that serve requests' },
  },
  {
    path: 'publicUrl',
    type: 'text',
    env: 'PARLEY_PUBLIC_URL',
    flag: {
      option: '--public-url <url>',
      description: 'base URL at which clients reach the service',
    },
  },
  {
    path: 'engine.threads',
    type: 'number',
    env: 'PARLEY_ENGINE_THREADS',
    flag: { option: '--threads <number>', description: 'threads of the engine' },
  },
  {
    path: 'log.level',
    type: 'text',
    env: 'PARLEY_LOG_LEVEL',
    flag: { option: '--log-level <level>', description: 'fatal, error, warn, info, debug or trace' },
  },
  { path: 'cors.origins', type: 'list', env: 'PARLEY_CORS_ORIGINS' },
  { path: 'modelsFolder', type: 'path', env: 'PARLEY_MODELS_FOLDER' },
  { path: 'extraModelsFolders', type: 'paths', env: 'PARLEY_MODELS' },
  { path: 'enginesFolder', type: 'path', env: 'PARLEY_ENGINES_FOLDER' },
  { path: 'npmRegistryUrl', type: 'text', env: 'PARLEY_NPM_REGISTRY_URL' },
  { path: 'hubUrl', type: 'text', env: 'PARLEY_HUB_URL' },
  { path: 'engine.kind', type: 'text', env: 'PARLEY_ENGINE_KIND' },
  { path: 'engine.prefer', type: 'text', env: 'PARLEY_ENGINE_PREFER' },
  { path: 'engine.llamaServer', type: 'text', env: 'PARLEY_ENGINE_LLAMA_SERVER' },
  { path: 'engine.sequences', type: 'number', env: 'PARLEY_ENGINE_SEQUENCES' },
  { path: 'engine.contextTokens', type: 'number', env: 'PARLEY_ENGINE_CONTEXT_TOKENS' },
  { path: 'engine.gpu', type: 'boolean', env: 'PARLEY_ENGINE_GPU' },
  { path: 'limits.deadlinePlainMs', type: 'number', env: 'PARLEY_LIMITS_DEADLINE_PLAIN_MS' },
  { path: 'limits.deadlineStreamMs', type: 'number', env: 'PARLEY_LIMITS_DEADLINE_STREAM_MS' },
  { path: 'limits.keepAliveMs', type: 'number', env: 'PARLEY_LIMITS_KEEP_ALIVE_MS' },
  { path: 'limits.queuePlaces', type: 'number', env: 'PARLEY_LIMITS_QUEUE_PLACES' },
  { path: 'limits.queueWaitMs', type: 'number', env: 'PARLEY_LIMITS_QUEUE_WAIT_MS' },
  { path: 'limits.bodyBytesMax', type: 'number', env: 'PARLEY_LIMITS_BODY_BYTES_MAX' },
  { path: 'strict', type: 'boolean', env: 'PARLEY_STRICT' },
  { path: 'log.pretty', type: 'boolean', env: 'PARLEY_LOG_PRETTY' },
  { path: 'operatorTokenFile', type: 'path', env: 'PARLEY_OPERATOR_TOKEN_FILE' },
  { path: 'store.url', type: 'text', env: 'PARLEY_STORE_URL' },
  { path: 'blobs.url', type: 'text', env: 'PARLEY_BLOBS_URL' },
  { path: 'files.fileBytesMax', type: 'number', env: 'PARLEY_FILES_FILE_BYTES_MAX' },
  { path: 'files.totalBytesMax', type: 'number', env: 'PARLEY_FILES_TOTAL_BYTES_MAX' },
  { path: 'files.countMax', type: 'number', env: 'PARLEY_FILES_COUNT_MAX' },
  { path: 'files.urlSeconds', type: 'number', env: 'PARLEY_FILES_URL_SECONDS' },
  { path: 'deployments.capacityMax', type: 'number', env: 'PARLEY_DEPLOYMENTS_CAPACITY_MAX' },
  { path: 'deployments.drainMs', type: 'number', env: 'PARLEY_DEPLOYMENTS_DRAIN_MS' },
  { path: 'batches.concurrency', type: 'number', env: 'PARLEY_BATCHES_CONCURRENCY' },
  { path: 'vocabularies.listsMax', type: 'number', env: 'PARLEY_VOCABULARIES_LISTS_MAX' },
  { path: 'vocabularies.entriesMax', type: 'number', env: 'PARLEY_VOCABULARIES_ENTRIES_MAX' },
  { path: 'speech.sessionsMax', type: 'number', env: 'PARLEY_SPEECH_SESSIONS_MAX' },
  { path: 'speech.allow', type: 'list', env: 'PARLEY_SPEECH_ALLOW' },
  { path: 'search.pages.bytesMax', type: 'number', env: 'PARLEY_SEARCH_PAGES_BYTES_MAX' },
  { path: 'search.pages.charsMax', type: 'number', env: 'PARLEY_SEARCH_PAGES_CHARS_MAX' },
  { path: 'search.pages.allow', type: 'list', env: 'PARLEY_SEARCH_PAGES_ALLOW' },
  { path: 'search.contact', type: 'text', env: 'PARLEY_SEARCH_CONTACT' },
  { path: 'research.queries', type: 'number', env: 'PARLEY_RESEARCH_QUERIES' },
  { path: 'research.pages', type: 'number', env: 'PARLEY_RESEARCH_PAGES' },
  { path: 'research.tokens', type: 'number', env: 'PARLEY_RESEARCH_TOKENS' },
  { path: 'research.minutes', type: 'number', env: 'PARLEY_RESEARCH_MINUTES' },
  { path: 'research.writer', type: 'text', env: 'PARLEY_RESEARCH_WRITER' },
  { path: 'research.streamPlan', type: 'boolean', env: 'PARLEY_RESEARCH_STREAM_PLAN' },
  { path: 'research.runsPerKey', type: 'number', env: 'PARLEY_RESEARCH_RUNS_PER_KEY' },
  { path: 'research.runsPerWorkspace', type: 'number', env: 'PARLEY_RESEARCH_RUNS_PER_WORKSPACE' },
  { path: 'codeInterpreter.level', type: 'text', env: 'PARLEY_CODE_INTERPRETER_LEVEL' },
  { path: 'codeInterpreter.driver', type: 'text', env: 'PARLEY_CODE_INTERPRETER_DRIVER' },
  { path: 'codeInterpreter.image', type: 'text', env: 'PARLEY_CODE_INTERPRETER_IMAGE' },
  { path: 'codeInterpreter.memoryMb', type: 'number', env: 'PARLEY_CODE_INTERPRETER_MEMORY_MB' },
  { path: 'codeInterpreter.seconds', type: 'number', env: 'PARLEY_CODE_INTERPRETER_SECONDS' },
  { path: 'codeInterpreter.containersMax', type: 'number', env: 'PARLEY_CODE_INTERPRETER_CONTAINERS_MAX' },
  { path: 'codeInterpreter.warm', type: 'number', env: 'PARLEY_CODE_INTERPRETER_WARM' },
  { path: 'codeInterpreter.wheelsFolder', type: 'path', env: 'PARLEY_CODE_INTERPRETER_WHEELS_FOLDER' },
  { path: 'callbacks.allow', type: 'list', env: 'PARLEY_CALLBACKS_ALLOW' },
  { path: 'retention.conversationsDays', type: 'number', env: 'PARLEY_RETENTION_CONVERSATIONS_DAYS' },
  { path: 'retention.responsesDays', type: 'number', env: 'PARLEY_RETENTION_RESPONSES_DAYS' },
  { path: 'timezone', type: 'text', env: 'PARLEY_TIMEZONE' },
  { path: 'shutdownGraceMs', type: 'number', env: 'PARLEY_SHUTDOWN_GRACE_MS' },
];
