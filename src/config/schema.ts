import { z } from 'zod';
import {
  BATCH_LINE_CONCURRENCY,
  CONNECTIONS_PER_ADDRESS,
  DEADLINE_UNSTREAMED_MS,
  DEADLINE_STREAM_MS,
  JSON_BODY_BYTES_MAX,
  REQUEST_IMAGES_BYTES_MAX,
  KEEP_ALIVE_MS,
  QUEUE_LENGTH_MAX,
  WORKSPACE_SHARE,
  QUEUE_WAIT_MS_MAX,
  REFUSALS_PER_ADDRESS,
} from '../core/limits.ts';
import {
  BEAM_WIDTH_DEFAULT,
  BEAM_WIDTH_MAX,
  CODE_CONTAINERS_DEFAULT,
  CODE_CONTAINERS_CONFIGURABLE_MAX,
  CODE_MEMORY_MB_DEFAULT,
  CODE_MEMORY_MB_MAX,
  CODE_MEMORY_MB_MIN,
  CODE_SECONDS_DEFAULT,
  CODE_SECONDS_MAX,
  DISK_FREE_SHARE_MIN,
  DEPLOYMENT_CAPACITY_MAX,
  DEPLOYMENT_DRAIN_MS,
  DEPLOYMENT_DRAIN_MS_MAX,
  FILE_BYTES_MAX,
  FILE_URL_SECONDS,
  FILES_BYTES_MAX,
  IMAGES_BYTES_MAX,
  IMAGES_WORKSPACE_BYTES_MAX,
  FILES_COUNT_MAX,
  BATCHES_DAYS,
  KEYS_DAYS,
  RESPONSES_DAYS,
  RESEARCH_MINUTES_DEFAULT,
  RESEARCH_MINUTES_MAX,
  RESEARCH_PAGES_DEFAULT,
  RESEARCH_PAGES_MAX,
  RESEARCH_QUERIES_DEFAULT,
  RESEARCH_QUERIES_MAX,
  RESEARCH_RUNS_PER_KEY_DEFAULT,
  RESEARCH_RUNS_PER_WORKSPACE_DEFAULT,
  RESEARCH_TOKENS_DEFAULT,
  RESEARCH_TOKENS_MAX,
  VOCABULARIES_MAX,
  VOCABULARY_ENTRIES_MAX,
} from './limits.ts';
import { DEFAULT_REGION, REGION_IDS } from '../core/region.ts';
import { isNetwork } from '../lib/network-matcher.ts';
import { createListSchema, createSection, MAPPING, text, wholeNumber } from './fields.ts';
import { searchSection } from './search-section.ts';

/** Longest delay of a timer in Node.js, in ms: 24.8 days. */
const TIMER_MS_MAX = 2_147_483_647;

const flag = z.boolean({ error: 'must be true or false' });

const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

const checkedText = (isValid: (value: string) => boolean, error: string) => text.refine(isValid, { error });

const httpUrl = checkedText(isHttpUrl, 'must be a URL that starts with http:// or https://, without query');

const hostPattern = checkedText(
  isHostPattern,
  'must be a lower-case host name without port; one label each may be {workspace} and {region}, but not the last',
);

const region = z.strictObject({
  /** Default: host and port of the service. `hosts` distinguishes regions on the same host and port. */
  host: text.optional(),
  port: wholeNumber(0, 65_535).optional(),
  /**
   * Host names of the region, e.g. `{workspace}.cn-beijing.example.com`. `{region}` stands for the id of every
   * configured region; such a name may be written under any of them.
   */
  hosts: createListSchema(hostPattern).default([]),
  /** Host names that still work; their responses have Deprecation and Link headers. */
  deprecatedHosts: createListSchema(hostPattern).default([]),
  /** Content of these headers. Without `deprecatedHosts`, all hosts of the region are deprecated. */
  deprecated: z
    .strictObject({
      since: checkedText((value) => !Number.isNaN(Date.parse(value)), 'must be a date such as 2026-01-31'),
      link: httpUrl,
    })
    .optional(),
});

/** 1 TiB. Larger values could exceed the limits of number arithmetic and object stores. */
const bytes = wholeNumber(1, 1024 ** 4);
/** At least the images that one request may have. */
const imageBytes = wholeNumber(REQUEST_IMAGES_BYTES_MAX, 1024 ** 4);
const fileCount = wholeNumber(1, 10_000_000);

/**
 * The whole configuration, merged from file, environment and flags. Contains all defaults that depend on no other
 * value.
 */
export const ConfigSchema = z.strictObject({
  data: text,
  /** Address to listen on. Any address but loopback makes the service reachable from other machines. */
  host: text.default('127.0.0.1'),
  /** 0: any free port. */
  port: wholeNumber(0, 65_535).default(8000),
  /** Processes that serve requests. They share the port and the engines. */
  workers: wholeNumber(1, 256).default(1),
  /** Optional parts that `serve` installs at its start without asking. */
  with: createListSchema(oneOf(['speech'])).default([]),
  /** PEM files of a certificate chain and its key. With them, the service speaks HTTPS only, and reloads changed files. */
  tls: z.strictObject({ cert: text, key: text }, MAPPING).optional(),
  /** Base URL at which clients reach the service, for URLs in responses. */
  publicUrl: httpUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
  regions: z
    .partialRecord(oneOf(REGION_IDS), region, { error: 'must be a mapping of region ids' })
    .refine((regions) => Object.keys(regions).length > 0, { error: 'must name at least one region' })
    .default({ [DEFAULT_REGION]: { hosts: [], deprecatedHosts: [] } }),
  cors: createSection({
    origins: createListSchema(checkedText(isOrigin, 'must be * or an origin such as https://a.b')).default([]),
  }),
  /** The catalogue parses these three sections. */
  models: z.unknown().optional(),
  weights: z.unknown().optional(),
  aliases: z.unknown().optional(),
  modelsFolder: text.optional(),
  extraModelsFolders: createListSchema(text).default([]),
  /** URL of the model hub. `off`: never used. */
  hubUrl: z.union([z.literal('off'), httpUrl], { error: 'must be a URL or off' }).default('https://huggingface.co'),
  /** Folder of runtimes that are installed on demand. Default: `engines` in the data folder. */
  enginesFolder: text.optional(),
  /** npm registry of these runtimes. Default: the registry of npm's configuration. */
  npmRegistryUrl: httpUrl.optional(),
  engine: createSection({
    kind: oneOf(['llama', 'scripted']).default('llama'),
    /** The engine that runs local weights: the embedded engine, or llama.cpp's server if it is installed. */
    prefer: oneOf(['embedded', 'llama-server']).default('embedded'),
    /** Path of llama.cpp's server. Default: searched in PATH. */
    llamaServer: text.optional(),
    threads: wholeNumber(1, 1024).optional(),
    /** Answers that are generated concurrently. */
    sequences: wholeNumber(1, 256).default(4),
    /** Share of a model's sequences that a workspace keeps while other workspaces wait. */
    workspaceShare: z
      .number({ error: 'must be a number' })
      .min(0, { error: 'must be from 0 to 1' })
      .max(1, { error: 'must be from 0 to 1' })
      .default(WORKSPACE_SHARE),
    /** Context length of one sequence. Default: that of the model's entry, or else what memory allows. */
    contextTokens: wholeNumber(256, 1_048_576).optional(),
    gpu: z.union([z.literal(false), z.literal('auto')], { error: 'must be false or auto' }).default(false),
  }),
  limits: createSection({
    deadlinePlainMs: wholeNumber(1000, TIMER_MS_MAX).default(DEADLINE_UNSTREAMED_MS),
    deadlineStreamMs: wholeNumber(1000, TIMER_MS_MAX).default(DEADLINE_STREAM_MS),
    keepAliveMs: wholeNumber(100, 3_600_000).default(KEEP_ALIVE_MS),
    queuePlaces: wholeNumber(1, 100_000).default(QUEUE_LENGTH_MAX),
    queueWaitMs: wholeNumber(0, 3_600_000).default(QUEUE_WAIT_MS_MAX),
    bodyBytesMax: wholeNumber(1024, 1_073_741_824).default(JSON_BODY_BYTES_MAX),
    /** Open connections of one address to one process. */
    connectionsPerAddress: wholeNumber(1, 1_000_000).default(CONNECTIONS_PER_ADDRESS),
    /** Requests without a valid key that one address may send to one process per minute before each has to wait. */
    refusalsPerAddress: wholeNumber(1, 1_000_000).default(REFUSALS_PER_ADDRESS),
  }),
  /** Reject requests with unknown fields with 400, instead of naming the fields in x-parley-ignored. */
  strict: flag.default(false),
  log: createSection({
    level: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    /** auto: true for a terminal. */
    pretty: z.union([flag, z.literal('auto')], { error: 'must be true, false or auto' }).default('auto'),
  }),
  /** Default: `operator-token` in the data folder. */
  operatorTokenFile: text.optional(),
  /** Host names, besides localhost, of requests of this machine that may call /ready and /metrics without the token. */
  operatorHosts: createListSchema(checkedText(isHostName, 'must be a host name without a port')).default([]),
  /** Proxies in front of the service: requests from these addresses are never requests of this machine itself. */
  trustedProxies: createListSchema(
    checkedText(isNetwork, 'must be an IP address, or a network such as 10.0.0.0/8'),
  ).default([]),
  store: createSection({
    url: checkedText(
      (value) => /^sqlite:./.test(value),
      'must be sqlite: and a path; other databases are not supported yet',
    ).optional(),
    /** Whether the start checks the database for damage, and refuses a damaged one. */
    startCheck: flag.default(true),
    /** Copy an existing database before a new version changes it: docs/guides/upgrading.md. */
    backupBeforeMigration: flag.default(true),
  }),
  disk: createSection({
    /** Free share of the disk of the data folder, from 0 to 1, below which /ready reports it. */
    freeShareMin: z
      .number({ error: 'must be a number' })
      .min(0, { error: 'must be from 0 to 1' })
      .max(1, { error: 'must be from 0 to 1' })
      .default(DISK_FREE_SHARE_MIN),
  }),
  /** Files of each workspace in a region. */
  files: createSection({
    fileBytesMax: bytes.default(FILE_BYTES_MAX),
    totalBytesMax: bytes.default(FILES_BYTES_MAX),
    countMax: fileCount.default(FILES_COUNT_MAX),
    /** Seconds that a download URL is valid. */
    urlSeconds: wholeNumber(1, 7 * 86_400).default(FILE_URL_SECONDS),
    /** Different limits for single workspaces, by name. */
    workspaces: z
      .record(
        text,
        z.strictObject(
          { fileBytesMax: bytes.optional(), totalBytesMax: bytes.optional(), countMax: fileCount.optional() },
          MAPPING,
        ),
        MAPPING,
      )
      .default({}),
  }),
  /** Deployments, which callers create. */
  deployments: createSection({
    /** Maximum units of one deployment; at most 999. */
    capacityMax: wholeNumber(1, DEPLOYMENT_CAPACITY_MAX).default(DEPLOYMENT_CAPACITY_MAX),
    /** Ms that running calls may continue after their deployment was scaled or deleted; then they are aborted. */
    drainMs: wholeNumber(0, DEPLOYMENT_DRAIN_MS_MAX).default(DEPLOYMENT_DRAIN_MS),
  }),
  /** Storage of file contents. Default: the folder `blobs` in the data folder. */
  blobs: createSection({
    url: checkedText((value) => value.startsWith('s3://'), 'must be s3://BUCKET or s3://BUCKET/PREFIX').optional(),
  }),
  batches: createSection({
    /** Lines that one process runs concurrently, all batches together. */
    concurrency: wholeNumber(1, 1024).default(BATCH_LINE_CONCURRENCY),
  }),
  /** Vocabularies of expected words for speech recognition. */
  vocabularies: createSection({
    /** Vocabularies of a workspace in a region. */
    listsMax: wholeNumber(1, 100_000).default(VOCABULARIES_MAX),
    /** Entries of one vocabulary. */
    entriesMax: wholeNumber(1, 10_000).default(VOCABULARY_ENTRIES_MAX),
  }),
  speech: createSection({
    /** Concurrent realtime recognitions of all processes together. Default: the number of CPU cores. */
    sessionsMax: wholeNumber(1, 10_000).optional(),
    /** Texts that the recognition of files continues side by side; 1 takes less time and makes more errors. */
    beamWidth: wholeNumber(1, BEAM_WIDTH_MAX).default(BEAM_WIDTH_DEFAULT),
    /**
     * Non-public hosts, addresses and networks that audio may be fetched from; notation as in `callbacks.allow`.
     */
    allow: createListSchema(text).default([]),
  }),
  /** Search tools of models. */
  search: searchSection,
  /** Budget and number of deep research runs: docs/research.md. */
  research: createSection({
    queries: wholeNumber(1, RESEARCH_QUERIES_MAX).default(RESEARCH_QUERIES_DEFAULT),
    pages: wholeNumber(1, RESEARCH_PAGES_MAX).default(RESEARCH_PAGES_DEFAULT),
    /** All model calls of a run, prompts included. */
    tokens: wholeNumber(1_000, RESEARCH_TOKENS_MAX).default(RESEARCH_TOKENS_DEFAULT),
    minutes: wholeNumber(1, RESEARCH_MINUTES_MAX).default(RESEARCH_MINUTES_DEFAULT),
    /** `extractive`: reports consist of sentences of their sources. */
    writer: oneOf(['model', 'extractive']).default('model'),
    /** Stream the plan while it is written. */
    streamPlan: flag.default(false),
    /** Unfinished runs of a key, and of a workspace in a region. */
    runsPerKey: wholeNumber(1, 10_000).default(RESEARCH_RUNS_PER_KEY_DEFAULT),
    runsPerWorkspace: wholeNumber(1, 10_000).default(RESEARCH_RUNS_PER_WORKSPACE_DEFAULT),
  }),
  /** Execution of programs that models write: docs/code-interpreter.md. */
  codeInterpreter: createSection({
    /** Required isolation. If it does not work on this machine, no program is run. */
    level: oneOf(['strict', 'basic', 'off']).default('strict'),
    driver: oneOf(['auto', 'bubblewrap', 'namespaces', 'docker', 'podman']).default('auto'),
    /** Local container image with Node 24 or newer, for docker and podman. */
    image: text.default('node:24-slim'),
    memoryMb: wholeNumber(CODE_MEMORY_MB_MIN, CODE_MEMORY_MB_MAX).default(CODE_MEMORY_MB_DEFAULT),
    seconds: wholeNumber(1, CODE_SECONDS_MAX).default(CODE_SECONDS_DEFAULT),
    /** Containers of each process of the service. */
    containersMax: wholeNumber(1, CODE_CONTAINERS_CONFIGURABLE_MAX).default(CODE_CONTAINERS_DEFAULT),
    /** Containers of one workspace in one region. Default: half of containersMax, rounded up. */
    containersPerWorkspace: wholeNumber(1, CODE_CONTAINERS_CONFIGURABLE_MAX).optional(),
    /** Idle processes kept in reserve. Default: one, if the machine has 4 GiB of memory. */
    warm: wholeNumber(0, CODE_CONTAINERS_CONFIGURABLE_MAX).optional(),
    /** Folder of Pyodide wheels that programs may import. */
    wheelsFolder: text.optional(),
  }),
  /** Callbacks to URLs that callers set. */
  callbacks: createSection({
    /** Non-public hosts, addresses and networks that may be called, e.g. `10.0.0.0/8`, `*.corp.example`. */
    allow: createListSchema(text).default([]),
  }),
  /** Images that callers name by URL. */
  images: createSection({
    /** Non-public hosts, addresses and networks that images may be fetched from; notation as in `callbacks.allow`. */
    allow: createListSchema(text).default([]),
    /** Bytes of the fetched images of all running requests of a process, and of one workspace. */
    totalBytesMax: imageBytes.default(IMAGES_BYTES_MAX),
    workspaceBytesMax: imageBytes.default(IMAGES_WORKSPACE_BYTES_MAX),
  }),
  /** Days that data is kept; 0: until it is deleted. docs/retention.md lists everything. */
  retention: createSection({
    /** After the last change of the conversation or its items. */
    conversationsDays: wholeNumber(0, 36_500).default(0),
    /** After the creation of the response. */
    responsesDays: wholeNumber(0, 36_500).default(RESPONSES_DAYS),
    /** After the end of the batch. Its files stay. */
    batchesDays: wholeNumber(0, 36_500).default(BATCHES_DAYS),
    /** After the creation of the file. Inputs of batches that have not ended stay. */
    filesDays: wholeNumber(0, 36_500).default(0),
    /** After the key was revoked or expired. */
    keysDays: wholeNumber(0, 36_500).default(KEYS_DAYS),
  }),
  /** Time zone of times that some APIs return as text. */
  timezone: checkedText(isTimezone, 'must be a time zone such as UTC or Asia/Shanghai').default('UTC'),
  /** Ms that running requests may continue when the service stops. */
  shutdownGraceMs: wholeNumber(0, 3_600_000).default(20_000),
});

export type ParsedConfig = z.output<typeof ConfigSchema>;

function isHostPattern(value: string): boolean {
  const labels = value.split('.');
  const isPlaceholder = (label: string): boolean => label === '{workspace}' || label === '{region}';
  const placeholders = labels.filter((label) => isPlaceholder(label));
  const names = labels.filter((label) => !isPlaceholder(label));
  return (
    names.every((label) => /^[a-z0-9]+(?:-+[a-z0-9]+)*$/.test(label)) &&
    new Set(placeholders).size === placeholders.length &&
    labels.at(-1) === names.at(-1)
  );
}

function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
}

function isHostName(value: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value);
}

function isOrigin(value: string): boolean {
  return value === '*' || (isHttpUrl(value) && URL.parse(value)?.origin === value);
}

function isTimezone(value: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
