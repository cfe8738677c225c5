import { z } from 'zod';
import {
  BATCH_CONCURRENCY,
  CODE_CONTAINERS_MAX,
  CODE_CONTAINERS_MOST,
  CODE_MEMORY_MB,
  CODE_MEMORY_MB_MAX,
  CODE_MEMORY_MB_MIN,
  CODE_SECONDS,
  CODE_SECONDS_MAX,
  DEADLINE_PLAIN_MS,
  DEADLINE_STREAM_MS,
  DEPLOYMENT_CAPACITY_MAX,
  DEPLOYMENT_DRAIN_MS,
  DEPLOYMENT_DRAIN_MS_MAX,
  FILE_BYTES_MAX,
  FILE_URL_SECONDS,
  FILES_BYTES_MAX,
  FILES_COUNT_MAX,
  JSON_BODY_BYTES_MAX,
  KEEP_ALIVE_MS,
  QUEUE_PLACES_MAX,
  QUEUE_WAIT_MS_MAX,
  RESEARCH_MINUTES,
  RESEARCH_MINUTES_MAX,
  RESEARCH_PAGES,
  RESEARCH_PAGES_MAX,
  RESEARCH_QUERIES,
  RESEARCH_QUERIES_MAX,
  RESEARCH_RUNS_OF_KEY,
  RESEARCH_RUNS_OF_WORKSPACE,
  RESEARCH_TOKENS,
  RESEARCH_TOKENS_MAX,
  VOCABULARIES_MAX,
  VOCABULARY_ENTRIES_MAX,
} from '../core/limits.ts';
import { REGION_IDS } from '../core/region.ts';
import { searchSection } from './search-section.ts';

/** Longest wait that a timer of the runtime can count, in ms: 24.8 days. */
const TIMER_MS_MAX = 2_147_483_647;

const MAPPING = { error: 'must be a mapping' };

const text = z.string({ error: 'must be a text' }).min(1, { error: 'must not be empty' });
const flag = z.boolean({ error: 'must be true or false' });

function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

const listOf = <Item extends z.ZodType>(item: Item) => z.array(item, { error: 'must be a list' });

const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

const checked = (isRight: (value: string) => boolean, error: string) => text.refine(isRight, { error });

const httpUrl = checked(isHttpUrl, 'must be an address that begins with http:// or https://, without query');

const hostPattern = checked(
  isHostPattern,
  'must be a lower-case host name without port, in which {workspace} and {region} may stand for one label each, not the last',
);

const region = z.strictObject({
  /** Default: the service's own. Regions on one address are told apart by `hosts`. */
  host: text.optional(),
  port: whole(0, 65_535).optional(),
  /**
   * Host names that lead to this region, e.g. `{workspace}.cn-beijing.example.com`. One with `{region}` leads to every
   * region of the configuration, each by its id, and may stand under any of them.
   */
  hosts: listOf(hostPattern).default([]),
  /** Host names that still lead here and are answered with Deprecation and Link headers. */
  deprecatedHosts: listOf(hostPattern).default([]),
  /** What those headers say. Without `deprecatedHosts` the region's every address is deprecated. */
  deprecated: z
    .strictObject({
      since: checked((value) => !Number.isNaN(Date.parse(value)), 'must be a date such as 2026-01-31'),
      link: httpUrl,
    })
    .optional(),
});

/** 1 TB: beyond, sums of bytes and what object stores hold under one name would have to be thought about. */
const bytes = whole(1, 1024 ** 4);
const fileCount = whole(1, 10_000_000);

/** The whole configuration as file, environment and flags may give it. Defaults that need no other value stand here. */
export const ConfigSchema = z.strictObject({
  data: text,
  /** An address to listen on; anything but loopback opens the service to others. */
  host: text.default('127.0.0.1'),
  /** 0: any free one. */
  port: whole(0, 65_535).default(8000),
  /** Processes that answer requests. They share the port; the engines are shared too, and started once. */
  workers: whole(1, 256).default(1),
  /** How callers reach us, for URLs that we hand out. */
  publicUrl: httpUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
  regions: z
    .partialRecord(oneOf(REGION_IDS), region, { error: 'must be a mapping from region ids' })
    .refine((regions) => Object.keys(regions).length > 0, { error: 'must name at least one region' })
    .default({ 'cn-beijing': { hosts: [], deprecatedHosts: [] } }),
  cors: z
    .strictObject(
      { origins: listOf(checked(isOrigin, 'must be * or an origin such as https://a.b')).default([]) },
      MAPPING,
    )
    .prefault({}),
  /** These three are parsed by the catalogue. */
  models: z.unknown().optional(),
  weights: z.unknown().optional(),
  aliases: z.unknown().optional(),
  modelsFolder: text.optional(),
  extraModelsFolders: listOf(text).default([]),
  /** A model hub's address; `off`: never asked. */
  hubUrl: z
    .union([z.literal('off'), httpUrl], { error: 'must be an address or off' })
    .default('https://huggingface.co'),
  /** Where runtimes are kept that are installed on demand. */
  enginesFolder: text.optional(),
  /** The registry of npm packages that they come from; default: the one that npm is configured with. */
  npmRegistryUrl: httpUrl.optional(),
  engine: z
    .strictObject(
      {
        kind: oneOf(['llama', 'scripted']).default('llama'),
        /** What runs our weights: the embedded engine, or llama.cpp's own server where that is on this machine. */
        prefer: oneOf(['embedded', 'llama-server']).default('embedded'),
        /** Where that server is; default: along PATH. */
        llamaServer: text.optional(),
        threads: whole(1, 1024).optional(),
        /** Answers that run side by side. */
        sequences: whole(1, 256).default(4),
        /** Tokens of one sequence; default: what the model's entry says. */
        contextTokens: whole(256, 1_048_576).optional(),
        gpu: z.union([z.literal(false), z.literal('auto')], { error: 'must be false or auto' }).default(false),
      },
      MAPPING,
    )
    .prefault({}),
  limits: z
    .strictObject(
      {
        deadlinePlainMs: whole(1000, TIMER_MS_MAX).default(DEADLINE_PLAIN_MS),
        deadlineStreamMs: whole(1000, TIMER_MS_MAX).default(DEADLINE_STREAM_MS),
        keepAliveMs: whole(100, 3_600_000).default(KEEP_ALIVE_MS),
        queuePlaces: whole(1, 100_000).default(QUEUE_PLACES_MAX),
        queueWaitMs: whole(0, 3_600_000).default(QUEUE_WAIT_MS_MAX),
        bodyBytesMax: whole(1024, 1_073_741_824).default(JSON_BODY_BYTES_MAX),
      },
      MAPPING,
    )
    .prefault({}),
  /** Unknown fields of a request: 400 instead of a name in x-parley-ignored. */
  strict: flag.default(false),
  log: z
    .strictObject(
      {
        level: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
        /** auto: where a person looks at a terminal. */
        pretty: z.union([flag, z.literal('auto')], { error: 'must be true, false or auto' }).default('auto'),
      },
      MAPPING,
    )
    .prefault({}),
  /** Default: `operator-token` in the data folder. */
  operatorTokenFile: text.optional(),
  store: z
    .strictObject(
      {
        url: checked(
          (value) => /^sqlite:./.test(value),
          'must be sqlite: and a path (other databases come later)',
        ).optional(),
      },
      MAPPING,
    )
    .prefault({}),
  /** What each workspace may keep as files in a region. */
  files: z
    .strictObject(
      {
        fileBytesMax: bytes.default(FILE_BYTES_MAX),
        totalBytesMax: bytes.default(FILES_BYTES_MAX),
        countMax: fileCount.default(FILES_COUNT_MAX),
        /** For how long the address of a download is good. */
        urlSeconds: whole(1, 7 * 86_400).default(FILE_URL_SECONDS),
        /** What one workspace may keep, where that is something else. */
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
      },
      MAPPING,
    )
    .prefault({}),
  /** What callers may ask for as engines of their own. */
  deployments: z
    .strictObject(
      {
        /** Units of one deployment; the specification ends at 999. */
        capacityMax: whole(1, DEPLOYMENT_CAPACITY_MAX).default(DEPLOYMENT_CAPACITY_MAX),
        /** How long calls go on when theirs was scaled or deleted; whatever runs then is broken off. */
        drainMs: whole(0, DEPLOYMENT_DRAIN_MS_MAX).default(DEPLOYMENT_DRAIN_MS),
      },
      MAPPING,
    )
    .prefault({}),
  /** Where the bytes of files are kept; default: the folder `blobs` in the data folder. */
  blobs: z
    .strictObject(
      { url: checked((value) => value.startsWith('s3://'), 'must be s3:// with a bucket, and a prefix').optional() },
      MAPPING,
    )
    .prefault({}),
  batches: z
    .strictObject(
      {
        /** Lines that one process runs at once, all batches together. */
        concurrency: whole(1, 1024).default(BATCH_CONCURRENCY),
      },
      MAPPING,
    )
    .prefault({}),
  /** Words that recognition is to expect. */
  vocabularies: z
    .strictObject(
      {
        /** Vocabularies of a workspace in a region, of all models together. */
        listsMax: whole(1, 100_000).default(VOCABULARIES_MAX),
        /** Entries of one. */
        entriesMax: whole(1, 10_000).default(VOCABULARY_ENTRIES_MAX),
      },
      MAPPING,
    )
    .prefault({}),
  speech: z
    .strictObject(
      {
        /** Realtime recognitions at a time, of all processes together; default: one for each processor. */
        sessionsMax: whole(1, 10_000).optional(),
        /** Hosts, addresses and networks that audio may be fetched from although they are not public, as of `callbacks.allow`. */
        allow: listOf(text).default([]),
      },
      MAPPING,
    )
    .prefault({}),
  /** What models may look up while they answer. */
  search: searchSection.prefault({}),
  /** What a run of deep research may spend, and how many there may be: docs/research.md. */
  research: z
    .strictObject(
      {
        queries: whole(1, RESEARCH_QUERIES_MAX).default(RESEARCH_QUERIES),
        pages: whole(1, RESEARCH_PAGES_MAX).default(RESEARCH_PAGES),
        /** Of all model calls, prompts included. */
        tokens: whole(1_000, RESEARCH_TOKENS_MAX).default(RESEARCH_TOKENS),
        minutes: whole(1, RESEARCH_MINUTES_MAX).default(RESEARCH_MINUTES),
        /** `extractive`: reports are made of sentences of their sources. */
        writer: oneOf(['model', 'extractive']).default('model'),
        /** Whether the plan is told while it is written. */
        streamPlan: flag.default(false),
        /** Runs that have not ended, of a key and of a workspace in a region. */
        runsPerKey: whole(1, 10_000).default(RESEARCH_RUNS_OF_KEY),
        runsPerWorkspace: whole(1, 10_000).default(RESEARCH_RUNS_OF_WORKSPACE),
      },
      MAPPING,
    )
    .prefault({}),
  /** Programs that models write: docs/code-interpreter.md. */
  codeInterpreter: z
    .strictObject(
      {
        /** What they are kept in; where that does not hold on this machine, none runs. */
        level: oneOf(['strict', 'basic', 'off']).default('strict'),
        driver: oneOf(['auto', 'bubblewrap', 'namespaces', 'docker', 'podman']).default('auto'),
        /** Of docker or podman: one that is there already, with Node 24 or newer. */
        image: text.default('node:24-slim'),
        memoryMb: whole(CODE_MEMORY_MB_MIN, CODE_MEMORY_MB_MAX).default(CODE_MEMORY_MB),
        seconds: whole(1, CODE_SECONDS_MAX).default(CODE_SECONDS),
        /** Of each process of the service. */
        containersMax: whole(1, CODE_CONTAINERS_MOST).default(CODE_CONTAINERS_MAX),
        /** Processes in reserve; default: one, where the machine has 4 GiB of memory. */
        warm: whole(0, CODE_CONTAINERS_MOST).optional(),
        /** Wheels for Pyodide that programs may import from. */
        wheelsFolder: text.optional(),
      },
      MAPPING,
    )
    .prefault({}),
  /** Addresses that callers name, to be told of something. */
  callbacks: z
    .strictObject(
      {
        /** Hosts, addresses and networks that may be called although they are not public, e.g. `10.0.0.0/8`, `*.corp.example`. */
        allow: listOf(text).default([]),
      },
      MAPPING,
    )
    .prefault({}),
  /** Days that something is kept; default: until it is deleted. */
  retention: z
    .strictObject(
      {
        /** After the last change to it or to its items. */
        conversationsDays: whole(1, 36_500).optional(),
        /** After it was made. */
        responsesDays: whole(1, 36_500).optional(),
      },
      MAPPING,
    )
    .prefault({}),
  /** Of the times that some interfaces render as text. */
  timezone: checked(isTimezone, 'must be a time zone such as UTC or Asia/Shanghai').default('UTC'),
  /** How long a stopping service lets running answers go on. */
  shutdownGraceMs: whole(0, 3_600_000).default(20_000),
});

export type ParsedConfig = z.output<typeof ConfigSchema>;

function isHostPattern(value: string): boolean {
  const labels = value.split('.');
  const isPlace = (label: string): boolean => label === '{workspace}' || label === '{region}';
  const places = labels.filter((label) => isPlace(label));
  const names = labels.filter((label) => !isPlace(label));
  return (
    names.every((label) => /^[a-z0-9]+(?:-+[a-z0-9]+)*$/.test(label)) &&
    new Set(places).size === places.length &&
    labels.at(-1) === names.at(-1)
  );
}

function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
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
